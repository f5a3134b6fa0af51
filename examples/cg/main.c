/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's command line, its ways of running the loop, and what they are compared by. How the
 * loop is written with Rondo is told in solver.c. */
#include "solver.h"

#include "common/ways.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, RUN_FAILED = 1, BAD_INPUT = 2, GO_ON = -1 };

struct settings {
    int64_t side;   /* 0: not given */
    int64_t blocks; /* 0: not given */
    int64_t iterations, call, workers, repeat;
    double tolerance;
    const char *matrix; /* NULL: the grid */
};

/* The ways, and what the first one of them made: the others must make the same. */
struct bench {
    struct settings settings;
    struct cg cg;
    struct solver solver;
    double *x;
    struct progress *progress;
    double residual;
};

struct choice {
    struct bench *bench;
    int exec; /* -1: none, the plain loop; -2: OpenMP's */
};

static void help(void)
{
    puts(
        "usage: cg [OPTIONS]\n"
        "\n"
        "Solves A x = b by conjugate gradients, in several ways, by turns; prints how fast an\n"
        "iteration of each is. All must agree bit for bit: x, and the residual of each iteration.\n"
        "\n"
        "  --size NX          A is the 5-point Laplacian of NX x NX points (default 128)\n"
        "  --matrix FILE.mtx  A is read from a Matrix Market file: symmetric, positive definite\n"
        "  --blocks N         blocks of rows, each of them three nodes (default 8)\n"
        "  --tolerance T      stop at a residual of T times that of x = 0 (default 1e-8)\n"
        "  --iterations N     stop after N iterations in any case (default 5000)\n"
        "  --workers K        workers, and OpenMP threads (default: one per CPU)\n"
        "  --repeat R         turns (default 10)\n"
        "  --help             this text\n"
        "\n"
        "exit status: 0 done, 1 the run failed, results differ or the tolerance was not reached,\n"
        "2 bad input or usage");
}

/* ---- the command line */

static int tolerance(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end != text && !*end && *value >= 1e-15 && *value < 1)
        return 0;
    fprintf(stderr, "cg: --tolerance: '%s' is not a number from 1e-15 to less than 1\n", text);
    return -1;
}

static int parse_option(int option, struct settings *set)
{
    switch (option) {
    case 's': return ways_number("cg", "--size", optarg, 2, SPARSE_GRID_MOST, &set->side);
    case 'm': set->matrix = optarg; return 0;
    case 'b': return ways_number("cg", "--blocks", optarg, 1, 65536, &set->blocks);
    case 't': return tolerance(optarg, &set->tolerance);
    case 'i': return ways_number("cg", "--iterations", optarg, 1, 10000000, &set->iterations);
    case 'c': return ways_number("cg", "--call", optarg, 1, 10000000, &set->call);
    case 'w': return ways_number("cg", "--workers", optarg, 1, 1024, &set->workers);
    case 'r': return ways_number("cg", "--repeat", optarg, 1, 10000, &set->repeat);
    default: return -1;
    }
}

static int parse(int argc, char **argv, struct settings *set)
{
    static const struct option options[] = {
        { "size", required_argument, NULL, 's' },
        { "matrix", required_argument, NULL, 'm' },
        { "blocks", required_argument, NULL, 'b' },
        { "tolerance", required_argument, NULL, 't' },
        { "iterations", required_argument, NULL, 'i' },
        { "call", required_argument, NULL, 'c' },
        { "workers", required_argument, NULL, 'w' },
        { "repeat", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    *set = (struct settings){ .iterations = 5000, .call = 500, .repeat = 10, .tolerance = 1e-8 };
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            help();
            return DONE;
        }
        if (parse_option(option, set))
            return BAD_INPUT;
    }
    if (optind < argc) {
        fprintf(stderr, "cg: '%s': options only; a file is given with --matrix\n", argv[optind]);
        return BAD_INPUT;
    }
    if (set->side && set->matrix) {
        fprintf(stderr, "cg: --size and --matrix both say what A is; give one\n");
        return BAD_INPUT;
    }
    return GO_ON;
}

/* ---- the matrix */

static int load(struct bench *bench)
{
    struct settings *set = &bench->settings;
    struct sparse *a = &bench->cg.a;
    if (!set->side)
        set->side = 128;
    if (set->matrix && sparse_read(a, "cg", set->matrix))
        return BAD_INPUT;
    if (!set->matrix && sparse_poisson(a, (int32_t)set->side)) {
        fprintf(stderr, "cg: out of memory\n");
        return RUN_FAILED;
    }
    if (!set->blocks)
        set->blocks = a->rows < 8 ? a->rows : 8;
    if (set->blocks > a->rows) {
        fprintf(stderr, "cg: --blocks: %" PRId64 " blocks, but the matrix has %" PRId32 " rows\n",
                set->blocks, a->rows);
        return BAD_INPUT;
    }
    bench->x = malloc((size_t)a->rows * sizeof *bench->x);
    if (cg_make(&bench->cg, (int32_t)set->blocks, set->iterations, set->tolerance) || !bench->x ||
        !(bench->progress = malloc(cg_progress_bytes(&bench->cg)))) {
        fprintf(stderr, "cg: out of memory\n");
        return RUN_FAILED;
    }
    return GO_ON;
}

/* ---- the reference: the plain loop, once before all others */

static int solve_plainly(struct bench *bench, double *ns_per_number)
{
    struct cg *cg = &bench->cg;
    int64_t begin = ways_now_ns();
    if (cg_plain(cg)) {
        fprintf(stderr,
                "cg: %s: not positive definite: p'Ap is not positive in iteration %" PRId64 "\n",
                bench->settings.matrix ? bench->settings.matrix : "the grid",
                cg->progress->iterations);
        return BAD_INPUT;
    }
    *ns_per_number =
        (double)(ways_now_ns() - begin) / (double)cg->progress->iterations / solver_numbers(cg);
    memcpy(bench->x, cg->x, (size_t)cg->a.rows * sizeof *bench->x);
    memcpy(bench->progress, cg->progress, cg_progress_bytes(cg));
    bench->residual = sparse_residual(&cg->a, cg->x, cg->b);
    return GO_ON;
}

/* The r of the loop is b - A x but for rounding, which adds up: the true residual may be a little
 * greater than the one that stopped the loop. */
static int judge(const struct bench *bench)
{
    const struct settings *set = &bench->settings;
    const double most = 2 * set->tolerance + 1e-13;
    if (bench->progress->rr > bench->cg.enough) {
        fprintf(stderr,
                "cg: the tolerance %g is not reached after %" PRId64
                " iterations: the residual is %g\n",
                set->tolerance, bench->progress->iterations, bench->residual);
        return RUN_FAILED;
    }
    if (bench->residual <= most)
        return DONE;
    fprintf(stderr, "cg: the true residual is %g, for a tolerance of %g\n", bench->residual,
            set->tolerance);
    return RUN_FAILED;
}

/* ---- the ways */

static int reset(void *context)
{
    cg_reset(&((struct choice *)context)->bench->cg);
    return 0;
}

static int run(void *context)
{
    const struct choice *choice = context;
    struct bench *bench = choice->bench;
#ifdef _OPENMP
    if (choice->exec == -2)
        return cg_openmp(&bench->cg, (int)bench->solver.workers);
#endif
    return choice->exec < 0 ? cg_plain(&bench->cg) : solver_run(&bench->solver, choice->exec);
}

static int compare(const char *name, const struct bench *bench)
{
    const struct cg *cg = &bench->cg;
    const struct progress *is = cg->progress, *must = bench->progress;
    if (is->iterations != must->iterations) {
        fprintf(stderr, "cg: %s: %" PRId64 " iterations, the plain loop runs %" PRId64 "\n", name,
                is->iterations, must->iterations);
        return -1;
    }
    for (int64_t i = 0; i < must->iterations; i++)
        if (memcmp(&is->history[i], &must->history[i], sizeof(double)) != 0) {
            fprintf(stderr, "cg: %s: r'r after iteration %" PRId64 " is %a, in the plain loop %a\n",
                    name, i + 1, is->history[i], must->history[i]);
            return -1;
        }
    for (int32_t i = 0; i < cg->a.rows; i++)
        if (memcmp(&cg->x[i], &bench->x[i], sizeof(double)) != 0) {
            fprintf(stderr, "cg: %s: x[%" PRId32 "] is %a, in the plain loop %a\n", name, i,
                    cg->x[i], bench->x[i]);
            return -1;
        }
    return 0;
}

static int check(void *context)
{
    static const char *const names[EXECS] = { "interpreted", "compiled serial", "pipelined",
                                              "dataflow", "auto" };
    const struct choice *choice = context;
    return compare(choice->exec >= 0    ? names[choice->exec]
                   : choice->exec == -1 ? "plain loop"
                                        : "OpenMP",
                   choice->bench);
}

enum { WAYS = 7 };

static int make_ways(struct bench *bench, struct choice *choice, struct way *way)
{
    static const struct {
        const char *name;
        int exec;
    } all[WAYS] = {
        { "plain serial loop", -1 },
#ifdef _OPENMP
        { "OpenMP parallel for", -2 },
#endif
        { "Rondo interpreted", INTERPRETED },
        { "Rondo compiled serial", SERIAL },
        { "Rondo compiled pipelined", PIPELINED },
        { "Rondo dataflow", DATAFLOW },
        { "Rondo auto", AUTO },
    };
    int count = 0;
    for (; count < WAYS && all[count].name; count++) {
        choice[count] = (struct choice){ bench, all[count].exec };
        way[count] = (struct way){ .name = all[count].name,
                                   .reset = reset,
                                   .run = run,
                                   .check = check,
                                   .context = &choice[count] };
    }
    return count;
}

static int run_ways(struct bench *bench)
{
    struct choice choice[WAYS];
    struct way way[WAYS];
    const struct settings *set = &bench->settings;
    const struct cg *cg = &bench->cg;
    const int count = make_ways(bench, choice, way);
    int failed = ways_run("cg", way, count, (int)set->repeat);
    if (!failed) {
        printf("%" PRId32 " rows, %" PRId32 " entries, %" PRId32 " blocks, %" PRIu32
               " workers: %" PRId64 " iterations\n\n",
               cg->a.rows, cg->a.first[cg->a.rows], cg->blocks, bench->solver.workers,
               bench->progress->iterations);
        ways_print(way, count, (int)set->repeat, bench->progress->iterations, "iteration", 0);
        printf("%s\n||b - Ax|| / ||b|| = %.3g; every way: the same bits in x and in the residual "
               "of each iteration\n",
               bench->solver.why, bench->residual);
    }
    ways_free(way, count);
    return failed ? RUN_FAILED : judge(bench);
}

static int solve(struct bench *bench)
{
    double ns_per_number = 0;
    int status = load(bench);
    if (status == GO_ON)
        status = solve_plainly(bench, &ns_per_number);
    if (status != GO_ON)
        return status;
    if (solver_open(&bench->solver, &bench->cg, bench->settings.call,
                    (uint32_t)bench->settings.workers, ns_per_number))
        return RUN_FAILED;
    return run_ways(bench);
}

int main(int argc, char **argv)
{
    struct bench bench = { 0 };
    int status = parse(argc, argv, &bench.settings);
    if (status == GO_ON)
        status = solve(&bench);
    solver_close(&bench.solver);
    cg_free(&bench.cg);
    free(bench.x);
    free(bench.progress);
    return status;
}
