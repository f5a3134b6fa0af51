/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's command line, its ways of solving, and what they are compared by. How a solve is
 * written with Rondo is told in solver.c, how it is cut into tasks in blocks.c. */
#include "solver.h"

#include "common/ways.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, RUN_FAILED = 1, BAD_INPUT = 2, GO_ON = -1 };

/* Beyond, a solution is wrong, whatever the matrix: CHOLMOD's factor is backward stable. */
#define MOST_RESIDUAL 1e-10

struct settings {
    int64_t side; /* 0: not given */
    int64_t grain, solves, workers, repeat;
    const char *matrix; /* NULL: the grid */
};

/* The ways, and what the plain one made: the others must make the same. */
struct bench {
    struct settings settings;
    struct problem problem;
    struct solver solver;
    double *reference[SIDES];
    double ns_per_solve; /* of the plain one, when it ran first */
    double residual, error;
};

enum { PLAIN = -1, TASKS = -2, LEVELS = -3 };
struct choice {
    struct bench *bench;
    const char *name;
    int exec; /* of Rondo, or PLAIN... */
};

static void help(void)
{
    puts(
        "usage: trisolve [OPTIONS]\n"
        "\n"
        "Factorises a sparse matrix (CHOLMOD, AMD) and solves A x = L L' x = b for one right-hand\n"
        "side after the other, in several ways, by turns; prints how fast a solve of each is. All\n"
        "must agree bit for bit.\n"
        "\n"
        "  --size NX          A is the 5-point Laplacian of NX x NX points (default 100)\n"
        "  --matrix FILE.mtx  A is read from a Matrix Market file: symmetric, positive definite\n"
        "  --grain N          a task does about N entries of L (default 200)\n"
        "  --solves N         solves in a turn (default 100)\n"
        "  --workers K        workers, and OpenMP threads (default: one per CPU)\n"
        "  --repeat R         turns (default 10)\n"
        "  --help             this text\n"
        "\n"
        "exit status: 0 done, 1 the run failed or results differ, 2 bad input or usage");
}

/* ---- the command line */

static int parse_option(int option, struct settings *set)
{
    switch (option) {
    case 's': return ways_number("trisolve", "--size", optarg, 2, SPARSE_GRID_MOST, &set->side);
    case 'm': set->matrix = optarg; return 0;
    case 'g': return ways_number("trisolve", "--grain", optarg, 1, 1000000000, &set->grain);
    case 'n': return ways_number("trisolve", "--solves", optarg, 1, 10000000, &set->solves);
    case 'w': return ways_number("trisolve", "--workers", optarg, 1, 1024, &set->workers);
    case 'r': return ways_number("trisolve", "--repeat", optarg, 1, 10000, &set->repeat);
    default: return -1;
    }
}

static int parse(int argc, char **argv, struct settings *set)
{
    static const struct option options[] = {
        { "size", required_argument, NULL, 's' },    { "matrix", required_argument, NULL, 'm' },
        { "grain", required_argument, NULL, 'g' },   { "solves", required_argument, NULL, 'n' },
        { "workers", required_argument, NULL, 'w' }, { "repeat", required_argument, NULL, 'r' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    *set = (struct settings){ .grain = 200, .solves = 100, .repeat = 10 };
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
        fprintf(stderr, "trisolve: '%s': options only; a file is given with --matrix\n",
                argv[optind]);
        return BAD_INPUT;
    }
    if (set->side && set->matrix) {
        fprintf(stderr, "trisolve: --size and --matrix both say what A is; give one\n");
        return BAD_INPUT;
    }
    return GO_ON;
}

/* ---- the problem, and its reference solutions by the plain way */

static int load(struct bench *bench)
{
    struct settings *set = &bench->settings;
    struct problem *p = &bench->problem;
    if (!set->side)
        set->side = 100;
    if (set->matrix && sparse_read(&p->a, "trisolve", set->matrix))
        return BAD_INPUT;
    if (!set->matrix && sparse_poisson(&p->a, (int32_t)set->side)) {
        fprintf(stderr, "trisolve: out of memory\n");
        return RUN_FAILED;
    }
    int bad = problem_make(p, set->matrix ? set->matrix : "the grid", set->grain);
    return bad == -2 ? BAD_INPUT : bad ? RUN_FAILED : GO_ON;
}

/* The worst of all sides: of the residuals, and of the distances from the known solution. */
static void measure_errors(struct bench *bench)
{
    const struct problem *p = &bench->problem;
    for (int s = 0; s < SIDES; s++) {
        double error = 0;
        for (int32_t i = 0; i < p->a.rows; i++)
            error = fmax(error, fabs(bench->reference[s][i] - p->known[s][i]));
        bench->error = fmax(bench->error, error);
        bench->residual =
            fmax(bench->residual, sparse_residual(&p->a, bench->reference[s], p->right[s]));
    }
}

static int solve_plainly(struct bench *bench)
{
    struct problem *p = &bench->problem;
    const size_t bytes = (size_t)p->a.rows * sizeof(double);
    plain_serial(p, SIDES); /* brings all to the caches */
    int64_t begin = ways_now_ns();
    plain_serial(p, SIDES);
    bench->ns_per_solve = (double)(ways_now_ns() - begin) / SIDES;
    for (int s = 0; s < SIDES; s++) {
        if (!(bench->reference[s] = malloc(bytes))) {
            fprintf(stderr, "trisolve: out of memory\n");
            return RUN_FAILED;
        }
        memcpy(bench->reference[s], p->solution[s], bytes);
    }
    measure_errors(bench);
    if (bench->residual <= MOST_RESIDUAL) /* and not if it is not a number */
        return GO_ON;
    fprintf(stderr, "trisolve: the residual is %g\n", bench->residual);
    return RUN_FAILED;
}

/* ---- the ways */

static int reset(void *context)
{
    problem_reset(&((struct choice *)context)->bench->problem);
    return 0;
}

static int run(void *context)
{
    const struct choice *choice = context;
    struct bench *bench = choice->bench;
    if (choice->exec >= 0)
        return solver_run(&bench->solver, choice->exec);
#ifdef _OPENMP
    const int threads = (int)bench->solver.workers;
    if (choice->exec == TASKS)
        plain_tasks(&bench->problem, bench->settings.solves, threads);
    else if (choice->exec == LEVELS)
        plain_levels(&bench->problem, bench->settings.solves, threads);
    else
#endif
        plain_serial(&bench->problem, bench->settings.solves);
    return 0;
}

static int check(void *context)
{
    const struct choice *choice = context;
    const struct bench *bench = choice->bench;
    const struct problem *p = &bench->problem;
    for (int s = 0; s < SIDES && s < bench->settings.solves; s++)
        for (int32_t i = 0; i < p->a.rows; i++)
            if (memcmp(&p->solution[s][i], &bench->reference[s][i], sizeof(double)) != 0) {
                fprintf(stderr, "trisolve: %s: right-hand side %d: x[%" PRId32 "] is %a, not %a\n",
                        choice->name, s, i, p->solution[s][i], bench->reference[s][i]);
                return -1;
            }
    return 0;
}

enum { WAYS = 8 };

static int make_ways(struct bench *bench, struct choice *choice, struct way *way)
{
    const struct choice all[] = {
        { bench, "serial, row after row", PLAIN },
#ifdef _OPENMP
        { bench, "OpenMP tasks, depend", TASKS },
        { bench, "OpenMP for, by levels", LEVELS },
#endif
        { bench, "Rondo interpreted", INTERPRETED },
        { bench, "Rondo compiled serial", SERIAL },
        { bench, "Rondo compiled pipelined", PIPELINED },
        { bench, "Rondo dataflow", DATAFLOW },
        { bench, "Rondo auto", AUTO },
    };
    const int count = (int)(sizeof all / sizeof *all);
    for (int i = 0; i < count; i++) {
        choice[i] = all[i];
        way[i] = (struct way){
            .name = all[i].name, .reset = reset, .run = run, .check = check, .context = &choice[i]
        };
    }
    return count;
}

/* ---- the table */

static void print_head(const struct bench *bench)
{
    const struct problem *p = &bench->problem;
    const struct blocks *b = &p->blocks;
    const struct solver *s = &bench->solver;
    printf("%" PRId32 " rows, %" PRId32 " entries in L, %" PRIu32 " workers, %" PRId64
           " solves a turn\n",
           p->a.rows, p->factor.lower.first[p->a.rows], s->workers, bench->settings.solves);
    printf("%" PRIu64 " tasks on %" PRId32 " levels, %.0f ns of work each; %" PRIu64
           " edges by hand for %" PRId64 " dependences; %" PRIu64 " waits\n",
           s->counts.nodes, 2 * b->levels, bench->ns_per_solve / (double)s->counts.nodes,
           s->counts.edges, 2 * b->dependences, s->counts.waits);
    printf("once: %.1f ms to record, %.1f ms to instantiate\n\n", (double)s->record_ns / 1e6,
           (double)s->instantiate_ns / 1e6);
}

static int run_ways(struct bench *bench)
{
    struct choice choice[WAYS];
    struct way way[WAYS];
    const struct settings *set = &bench->settings;
    const int count = make_ways(bench, choice, way);
    int failed = ways_run("trisolve", way, count, (int)set->repeat);
    if (!failed) {
        print_head(bench);
        ways_print(way, count, (int)set->repeat, set->solves, "solve", 0);
        printf("%s\n||b - Ax|| / ||b|| = %.3g, |x - known x| <= %.3g; every way: the same bits\n",
               bench->solver.why, bench->residual, bench->error);
    }
    ways_free(way, count);
    return failed ? RUN_FAILED : DONE;
}

static int solve(struct bench *bench)
{
    int status = load(bench);
    if (status == GO_ON)
        status = solve_plainly(bench);
    if (status != GO_ON)
        return status;
    const struct factor *f = &bench->problem.factor;
    const double ns_per_entry = bench->ns_per_solve / 2 / f->lower.first[f->rows];
    if (solver_open(&bench->solver, &bench->problem, bench->settings.solves,
                    (uint32_t)bench->settings.workers, ns_per_entry))
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
    problem_free(&bench.problem);
    for (int s = 0; s < SIDES; s++)
        free(bench.reference[s]);
    return status;
}
