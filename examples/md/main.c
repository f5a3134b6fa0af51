/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's command line, what it prints, and the two runs that have to stop early. How the
 * loop is written with Rondo is told in solver.c. */
#include "rows.h"

#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { DONE = 0, RUN_FAILED = 1, BAD_INPUT = 2, NO_DEVICE = 3, GO_ON_RUNNING = -1 };
enum { HEADLINE_SIZES = 3, LEAST_ATOMS = 800, MOST_ATOMS = 4000000 };
static const int64_t sizes[HEADLINE_SIZES] = { 1000, 10000, 100000 }; /* of the headline */

/* The bound on |energy - energy at the first check|, per atom; the energy is about -4.17. */
#define DRIFT_BOUND 5e-4
#define TIME_STEP   0.001
#define TEMPERATURE 1.44 /* of the lattice; half of it goes into melting */

struct settings {
    int64_t atoms, steps, workers, repeat; /* steps, workers 0: chosen */
    int64_t blocks[3];                     /* 0: chosen */
    int headline, describe;
    const char *device; /* NULL: none */
};

static void help(void)
{
    puts(
        "usage: md [OPTIONS]\n"
        "\n"
        "A Lennard-Jones liquid (density 0.8442, cutoff 2.5, time step 0.001), run in several "
        "ways\n"
        "by turns. All must agree in all bits of every position, velocity and energy; the energy\n"
        "may drift by 5e-4 per atom at most. Two short runs that have to stop early follow.\n"
        "\n"
        "  --atoms N        800 to 4000000; the nearest lattice is taken (default 1000)\n"
        "  --steps N        time steps, a multiple of 20 (default: by the number of atoms)\n"
        "  --blocks XxYxZ   blocks of cells, each of them a node per stage (default: chosen)\n"
        "  --workers K      workers, and OpenMP threads (default: one per CPU)\n"
        "  --repeat R       turns of each way (default 5)\n"
        "  --headline       1000, 10000 and 100000 atoms, and ratios to OpenMP only\n"
        "  --describe       what Rondo says of the pipelined exec, and of the device's\n"
        "  --device NAME    also on a device: opencl, opencl:0, ... (see docs/devices.md)\n"
        "  --help           this text\n"
        "\n"
        "exit status: 0 done, 1 the run failed or results differ, 2 bad input or usage, 3 no such\n"
        "device");
}

/* ---- the command line */

/* "2x2x4". */
static int three(const char *text, int64_t blocks[3])
{
    int64_t n[3] = { 0 };
    const char *c = text;
    for (int d = 0; d < 3; d++) {
        for (; *c >= '0' && *c <= '9' && n[d] < 100000; c++)
            n[d] = n[d] * 10 + (*c - '0');
        if (n[d] < 1 || n[d] > 10000 || *c != (d < 2 ? 'x' : 0)) {
            fprintf(stderr,
                    "md: --blocks: '%s' is not three numbers from 1 to 10000, as in 1x2x4\n", text);
            return -1;
        }
        c += d < 2;
    }
    memcpy(blocks, n, sizeof n);
    return 0;
}

static int parse_option(int option, struct settings *set)
{
    switch (option) {
    case 'a': return ways_number("md", "--atoms", optarg, LEAST_ATOMS, MOST_ATOMS, &set->atoms);
    case 's':
        if (ways_number("md", "--steps", optarg, REBUILD, 100000000, &set->steps))
            return -1;
        if (!(set->steps % REBUILD))
            return 0;
        fprintf(stderr, "md: --steps: %" PRId64 " is not a multiple of %d\n", set->steps, REBUILD);
        return -1;
    case 'b': return three(optarg, set->blocks);
    case 'w': return ways_number("md", "--workers", optarg, 1, 1024, &set->workers);
    case 'r': return ways_number("md", "--repeat", optarg, 1, 10000, &set->repeat);
    case 'H': set->headline = 1; return 0;
    case 'd': set->describe = 1; return 0;
    case 'D': set->device = optarg; return 0;
    default: return -1;
    }
}

static int parse(int argc, char **argv, struct settings *set)
{
    static const struct option options[] = {
        { "atoms", required_argument, NULL, 'a' },  { "steps", required_argument, NULL, 's' },
        { "blocks", required_argument, NULL, 'b' }, { "workers", required_argument, NULL, 'w' },
        { "repeat", required_argument, NULL, 'r' }, { "headline", no_argument, NULL, 'H' },
        { "describe", no_argument, NULL, 'd' },     { "device", required_argument, NULL, 'D' },
        { "help", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    *set = (struct settings){ .atoms = 1000, .repeat = 5 };
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            help();
            return DONE;
        }
        if (parse_option(option, set))
            return BAD_INPUT;
    }
    if (set->headline && set->device) {
        fprintf(stderr, "md: --headline is of CPUs, without --device\n");
        return BAD_INPUT;
    }
    if (optind < argc) {
        fprintf(stderr, "md: '%s' is not an option\n", argv[optind]);
        return BAD_INPUT;
    }
    return GO_ON_RUNNING;
}

/* ---- one size */

static int64_t usable_cpus(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
}

static struct system_options options_of(const struct settings *set, int64_t atoms)
{
    struct system_options options = { .atoms = atoms,
                                      .workers = set->workers ? set->workers : usable_cpus(),
                                      .dt = TIME_STEP,
                                      .temperature = TEMPERATURE,
                                      .drift_bound = DRIFT_BOUND };
    memcpy(options.blocks, set->blocks, sizeof options.blocks);
    return options;
}

/* About a million steps of an atom, two rebuilds at least. */
static int64_t steps_of(const struct settings *set, int64_t atoms)
{
    int64_t steps = 1000000 / atoms / REBUILD * REBUILD;
    return set->steps ? set->steps : steps < 2 * REBUILD ? 2 * REBUILD : steps;
}

static void print_system(const struct bench *b)
{
    const struct system *s = &b->initial;
    printf("%" PRId64 " atoms, %" PRId64 " x %" PRId64 " x %" PRId64 " cells in %" PRId64
           " x %" PRId64 " x %" PRId64 " blocks, %" PRId64 " steps, %" PRIu32 " workers\n",
           s->atoms, s->cells[0], s->cells[1], s->cells[2], s->blocks[0], s->blocks[1],
           s->blocks[2], b->steps, b->solver.workers);
    printf("Rondo: %" PRIu64 " nodes, %" PRIu64 " edges within a step and %" PRIu64
           " to later ones, on %" PRIu32 " processors\n",
           b->solver.counts.nodes, b->solver.counts.edges, b->solver.counts.carried_edges,
           b->solver.counts.processors);
}

static void print_physics(const struct bench *b)
{
    const struct watch *w = &b->watch;
    printf(
        "temperature %.4f, energy per atom %.6f, drifted by %.1e (bound %.0e); an atom moved by\n"
        "%.3f at most between rebuilds (bound %.3f); %" PRId64 " steps, checksum %016" PRIx64
        " in every way\n",
        w->kinetic * 2 / 3, w->last, w->drift, DRIFT_BOUND, w->moved, SKIN / 2, b->done,
        b->checksum);
}

/* A run that a check has stopped has gone wrong. */
static int went_well(const struct bench *b)
{
    if (b->watch.stop == STOP_SKIN)
        fprintf(stderr,
                "md: stopped after %" PRId64 " steps: an atom moved by %.3f, more than %.3f\n",
                b->done, b->watch.moved, SKIN / 2);
    if (b->watch.stop == STOP_DRIFT)
        fprintf(stderr,
                "md: stopped after %" PRId64 " steps: the energy drifted by %.1e, more than %.1e\n",
                b->done, b->watch.drift, b->live.drift_bound);
    return b->watch.stop == GO_ON;
}

static int run_size(struct bench *b, const struct settings *set)
{
    struct way ways[ROWS];
    int count = 0;
    for (enum row row = 0; row < ROWS; row++)
        if (row_is_there(b, row))
            ways[count++] = bench_way(b, row);
    print_system(b);
    if (set->describe && (solver_describe(&b->solver, EXEC_PIPELINED) ||
                          (b->device && solver_describe(&b->solver, EXEC_DEVICE))))
        return -1;
    int turns = (int)set->repeat, failed = ways_run("md", ways, count, turns);
    if (!failed) {
        puts("");
        ways_print(ways, count, turns, b->steps, "step", 0);
        puts("");
        print_physics(b);
    }
    ways_free(ways, count);
    return failed;
}

/* ---- runs that stop early */

/* Runs a small system in every way once: the same check stops each of them after the same step. */
static int show_stop(const struct settings *set, double dt, double bound, enum stop expected)
{
    struct bench b;
    struct system_options options = options_of(set, LEAST_ATOMS);
    memset(options.blocks, 0, sizeof options.blocks);
    options.dt = dt;
    options.drift_bound = bound;
    int failed = bench_open(&b, &options, (uint32_t)set->workers, set->device, 10 * REBUILD);
    if (!failed && b.watch.stop != (int32_t)expected) {
        fprintf(stderr, "md: dt %g, bound %g: not stopped by the check that should\n", dt, bound);
        failed = -1;
    }
    /* An exec that gets one call per step has no call to end early. */
    for (enum row row = 0; row < ROWS && !failed; row++)
        if (row_is_there(&b, row) && row != ROW_RONDO + EXEC_CALLS)
            failed = bench_run_once(&b, row);
    if (!failed && expected == STOP_SKIN)
        printf("stopped in every way after %" PRId64 " of %" PRId64
               " steps of %g: an atom moved by %.3f\n",
               b.done, b.steps, dt, b.watch.moved);
    if (!failed && expected == STOP_DRIFT)
        printf("stopped in every way after %" PRId64 " of %" PRId64
               " steps of %g: the energy drifted by %.1e, more than %.0e\n",
               b.done, b.steps, dt, b.watch.drift, bound);
    bench_close(&b);
    return failed;
}

/* DONE, or RUN_FAILED or NO_DEVICE. */
static int show(const struct settings *set)
{
    struct bench b;
    struct system_options options = options_of(set, set->atoms);
    int failed =
        bench_open(&b, &options, (uint32_t)set->workers, set->device, steps_of(set, set->atoms));
    if (!failed && !went_well(&b))
        failed = -1;
    if (!failed)
        failed = run_size(&b, set);
    int no_device = b.solver.no_device;
    bench_close(&b);
    if (no_device)
        return NO_DEVICE;
    return failed || show_stop(set, 5 * TIME_STEP, 1, STOP_SKIN) ||
                   show_stop(set, TIME_STEP, 1e-5, STOP_DRIFT)
               ? RUN_FAILED
               : DONE;
}

/* ---- the headline */

#ifdef _OPENMP
enum { BY_TASKS, BY_FOR, BY_PIPELINED, BY_AUTO, HEADLINE_WAYS };

static void print_ratios(const struct bench *b, const struct way *ways, int turns)
{
    const int middle = turns / 2;
    printf("%8" PRId64 " ", b->initial.atoms);
    for (int i = 0; i < HEADLINE_WAYS; i++)
        printf(" %9.1f", (double)ways[i].ns[middle] / 1e3 / (double)b->steps);
    for (int i = BY_PIPELINED; i <= BY_AUTO; i++)
        for (int k = BY_TASKS; k <= BY_FOR; k++)
            printf("  %5.3f %5.3f", (double)ways[i].ns[0] / (double)ways[k].ns[0],
                   (double)ways[i].ns[middle] / (double)ways[k].ns[middle]);
    printf("\n");
}

static int headline_size(const struct settings *set, int64_t atoms)
{
    static const enum row rows[HEADLINE_WAYS] = { ROW_TASKS, ROW_FOR, ROW_RONDO + EXEC_PIPELINED,
                                                  ROW_RONDO + EXEC_AUTO };
    struct bench b;
    struct way ways[HEADLINE_WAYS];
    struct system_options options = options_of(set, atoms);
    int failed = bench_open(&b, &options, (uint32_t)set->workers, NULL, steps_of(set, atoms));
    if (!failed && !went_well(&b))
        failed = -1;
    for (int i = 0; i < HEADLINE_WAYS; i++)
        ways[i] = bench_way(&b, rows[i]);
    if (!failed) {
        failed = ways_run("md", ways, HEADLINE_WAYS, (int)set->repeat);
        if (!failed)
            print_ratios(&b, ways, (int)set->repeat);
        fflush(stdout);
        ways_free(ways, HEADLINE_WAYS);
    }
    bench_close(&b);
    return failed;
}

static int headline(const struct settings *set)
{
    int failed = 0;
    printf("%-8s  %-39s  %-26s  %-26s\n", "", "us per step, median", "Rondo pipelined to OpenMP",
           "Rondo auto to OpenMP");
    printf("%8s  %9s %9s %9s %9s  %12s  %12s  %12s  %12s\n", "atoms", "tasks", "for", "pipelined",
           "auto", "tasks", "for", "tasks", "for");
    for (int i = 0; i < HEADLINE_SIZES && !failed; i++)
        failed = headline_size(set, sizes[i]);
    if (!failed)
        printf("%" PRId64
               " turns; ratios of times, of the minima and of the medians: below 1 Rondo "
               "is ahead\n",
               set->repeat);
    return failed;
}
#else
static int headline(const struct settings *set)
{
    (void)set;
    fprintf(stderr, "md: --headline: built without OpenMP\n");
    return -1;
}
#endif

/* Whether the blocks asked for fit. */
static int fits(const struct settings *set)
{
    int status = GO_ON_RUNNING, count = set->headline ? HEADLINE_SIZES : 1;
    for (int i = 0; i < count && status == GO_ON_RUNNING; i++) {
        struct system s;
        struct system_options options = options_of(set, set->headline ? sizes[i] : set->atoms);
        if (system_plan(&s, &options))
            status = BAD_INPUT;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct settings set;
    int status = parse(argc, argv, &set);
    if (status == GO_ON_RUNNING)
        status = fits(&set);
    if (status != GO_ON_RUNNING)
        return status;
    if (set.headline)
        return headline(&set) ? RUN_FAILED : DONE;
    return show(&set);
}
