/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's command line. How the algorithm is written with Rondo is told in solver.c. */
#include "table.h"

#include "common/ways.h"

#include <getopt.h>
#include <inttypes.h>
#include <lapacke.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, RUN_FAILED = 1, BAD_INPUT = 2, GO_ON = -1 };

struct settings {
    int64_t tiles, tile, workers, repeat, seed;
    const char *file;
};

static void help(void)
{
    printf(
        "usage: cholesky [OPTIONS]\n"
        "\n"
        "Factors a dense symmetric positive definite matrix, A = L L^T, tile by tile, in several\n"
        "ways, by turns; prints how fast each of them is and how exact its factor. Ways over\n"
        "tiles must agree bit for bit.\n"
        "\n"
        "  --tiles N        tiles per row and column (default 20; at most %d)\n"
        "  --tile-size B    rows of a tile (default 64; N times B at most %d)\n"
        "  --matrix FILE    a Matrix Market file, dense or sparse, instead of a generated matrix;\n"
        "                   as many tiles as it needs, the last ones filled up\n"
        "  --seed S         another generated matrix (default 1)\n"
        "  --workers K      workers, and threads of OpenMP and of LAPACK (default: one per CPU;\n"
        "                   at most %d)\n"
        "  --repeat R       repetitions (default 5)\n"
        "  --help           this text\n"
        "\n"
        "exit status: 0 done, 1 the run failed or a result is wrong, 2 bad input or usage\n",
        MATRIX_TILES, MATRIX_ROWS, KERNELS_THREADS);
}

/* One per CPU that this process may use. */
static int64_t default_workers(void)
{
    cpu_set_t allowed;
    int cpus = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    return cpus < KERNELS_THREADS ? cpus : KERNELS_THREADS;
}

static int parse_option(int option, struct settings *set)
{
    switch (option) {
    case 't': return ways_number("cholesky", "--tiles", optarg, 1, MATRIX_TILES, &set->tiles);
    case 'b': return ways_number("cholesky", "--tile-size", optarg, 1, MATRIX_ROWS, &set->tile);
    case 's': return ways_number("cholesky", "--seed", optarg, 0, 1000000000, &set->seed);
    case 'w':
        return ways_number("cholesky", "--workers", optarg, 1, KERNELS_THREADS, &set->workers);
    case 'r': return ways_number("cholesky", "--repeat", optarg, 1, 10000, &set->repeat);
    case 'm': set->file = optarg; return 0;
    default: return -1;
    }
}

/* What no option says alone. */
static int check(struct settings *set, const char *extra)
{
    if (extra)
        fprintf(stderr, "cholesky: '%s' is no option\n", extra);
    else if (set->file && set->tiles)
        fprintf(stderr, "cholesky: --tiles does not go with --matrix, whose size says how many\n");
    else {
        set->tiles = set->tiles ? set->tiles : 20;
        if (set->tiles * set->tile <= MATRIX_ROWS)
            return 0;
        fprintf(stderr, "cholesky: %" PRId64 " tiles of %" PRId64 " rows are more than %d rows\n",
                set->tiles, set->tile, MATRIX_ROWS);
    }
    return -1;
}

static int parse(int argc, char **argv, struct settings *set)
{
    static const struct option options[] = {
        { "tiles", required_argument, NULL, 't' },  { "tile-size", required_argument, NULL, 'b' },
        { "matrix", required_argument, NULL, 'm' }, { "seed", required_argument, NULL, 's' },
        { "repeat", required_argument, NULL, 'r' }, { "workers", required_argument, NULL, 'w' },
        { "help", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    *set = (struct settings){ .tile = 64, .workers = default_workers(), .repeat = 5, .seed = 1 };
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            help();
            return DONE;
        }
        if (parse_option(option, set))
            return BAD_INPUT;
    }
    return check(set, argv[optind]) ? BAD_INPUT : GO_ON;
}

/* Whether a file's matrix has a factor at all is told before anything is compared. */
static int check_definite(const struct matrix *m, const char *path)
{
    double *copy = kernels_memory(matrix_bytes(m));
    if (!copy) {
        fprintf(stderr, "cholesky: out of memory\n");
        return RUN_FAILED;
    }
    memcpy(copy, m->dense, matrix_bytes(m));
    int minor = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)m->order, copy, (int)m->order);
    free(copy);
    if (!minor)
        return GO_ON;
    fprintf(stderr, "cholesky: %s: not positive definite: its leading minor of order %d is not\n",
            path, minor);
    return BAD_INPUT;
}

static int load(const struct settings *set, struct matrix *m)
{
    if (!set->file)
        return matrix_generate(m, set->tiles * set->tile, set->tile, (uint64_t)set->seed)
                   ? RUN_FAILED
                   : GO_ON;
    return matrix_read(m, set->file, set->tile) ? BAD_INPUT : check_definite(m, set->file);
}

int main(int argc, char **argv)
{
    struct settings set;
    struct bench bench = { 0 };
    int status = parse(argc, argv, &set);
    if (status == GO_ON) {
        kernels_threads(1);
        status = load(&set, &bench.matrix);
    }
    if (status == GO_ON) {
        const struct matrix *m = &bench.matrix;
        status = RUN_FAILED;
        if (!bench_open(&bench, (uint32_t)set.workers, (int)set.repeat)) {
            printf("%" PRId64 " x %" PRId64 ", %" PRId64 " x %" PRId64 " tiles of %" PRId64
                   ", %" PRIu32 " workers; us per tile:",
                   m->n, m->n, m->tiles, m->tiles, m->tile, bench.solver.workers);
            for (int k = 0; k < KERNELS; k++)
                printf(" %s %.1f", kernel_names[k], bench.ns[k] / 1e3);
            putchar('\n');
            status = bench_factor(&bench) || bench_sweep(&bench) ? RUN_FAILED : DONE;
        }
    }
    bench_close(&bench);
    return status;
}
