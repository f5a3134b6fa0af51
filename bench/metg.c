/* SPDX-License-Identifier: BSD-3-Clause */
/* METG(50%), the smallest task for which half of the threads' time is work, as Task Bench defines
 * it (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
 * Performance", SC20): efficiency is the rate of work against that of all threads doing nothing but
 * work. Work is what one thread needs that calls the bodies in a loop, measured in the same rounds.
 */
#include "bench/contest.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "bench/support.h"

#include <math.h>
#include <stdio.h>

enum { SAMPLE_NS = 1000000, BEYOND = 2, PATIENCE = 6 };

static const double first_task_ns = 2, last_task_ns = 3e4, task_step = 1.3;

/* One implementation's way along the growing tasks. */
struct walk {
    struct metg metg;
    struct range task, efficiency; /* of the tasks measured last */
    unsigned enough[2];            /* how many in a row were efficient: by minimum, by median */
    double not_below;              /* no use in smaller tasks: what it spends beside work says so */
};

/* Between the last two sizes, on straight lines over the size's logarithm. */
static double crossing(double task0, double efficiency0, double task1, double efficiency1)
{
    double share = (0.5 - efficiency0) / (efficiency1 - efficiency0);
    return task0 * pow(task1 / task0, share);
}

static void step_one(double task0, double efficiency0, double task1, double efficiency1,
                     unsigned *enough, double *found, int *below)
{
    if (efficiency1 < 0.5) {
        *enough = 0;
        *found = 0;
        *below = 0;
        return;
    }
    if (*enough == 0) {
        *below = task0 <= 0;
        *found = task0 > 0 ? crossing(task0, efficiency0, task1, efficiency1) : task1;
    }
    ++*enough;
}

static void step(struct walk *w, struct range loop, struct range own)
{
    struct range efficiency = { loop.min / (2 * own.min), loop.median / (2 * own.median) };
    step_one(w->task.min, w->efficiency.min, loop.min, efficiency.min, &w->enough[0],
             &w->metg.task_ns.min, &w->metg.below_min);
    step_one(w->task.median, w->efficiency.median, loop.median, efficiency.median, &w->enough[1],
             &w->metg.task_ns.median, &w->metg.below_median);
    w->task = loop;
    w->efficiency = efficiency;
    /* Half efficient where the task takes twice what is spent beside it; from a quarter of that on
     * every size is measured. */
    w->not_below = (own.min - loop.min / 2) / 2;
}

/* Twice in a row, by minimum and by median; or the median stays behind on a machine that others
 * use. */
static int arrived(const struct walk *w)
{
    return w->enough[0] >= BEYOND &&
           (w->enough[1] >= BEYOND || w->task.min > PATIENCE * w->metg.task_ns.min);
}

static struct range measured(struct entry *e)
{
    struct range r = { entry_min(e), entry_median(e) };
    return r;
}

/* One size of the tasks. */
struct size {
    double task_ns;
    unsigned number;
};

/* The loop (entry 0) always takes part; the others at every fourth size even where there seems to
 * be no use, since a disturbance may have made it seem so. */
static int takes_part(const struct walk *walk, unsigned i, const struct size *size)
{
    return i == 0 ||
           (!arrived(&walk[i]) && (size->task_ns >= walk[i].not_below || size->number % 4 == 0));
}

/* All entries that take part, at one size of the tasks; how many have not arrived then. */
static unsigned measure_size(struct contest *c, struct walk *walk, const struct size *size,
                             unsigned rounds)
{
    unsigned left = 0;
    uint64_t iterations = body_iterations_for(size->task_ns);
    /* What is hand-written calibrates its pauses while the bodies are empty. */
    body_set_iterations(0);
    for (unsigned i = 0; i < c->entries; i++)
        if (takes_part(walk, i, size))
            contest_rebuild_one(c, &c->entry[i]);
    body_set_iterations(iterations);
    for (unsigned i = 0; i < c->entries; i++)
        if (takes_part(walk, i, size)) {
            samples_clear(&c->entry[i].ns);
            c->entry[i].peer->run(c->entry[i].built, c->entry[i].warm + 1);
            contest_size(&c->entry[i], SAMPLE_NS);
        }
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < c->entries; i++) {
            if (!takes_part(walk, i, size))
                continue;
            progress_show("metg, %s, width %u: tasks of %.0f ns, round %u, %s",
                          graph_kind_name(c->entry[i].graph->kind), c->entry[i].graph->width,
                          size->task_ns, round + 1, c->entry[i].peer->name);
            samples_add(&c->entry[i].ns, contest_sample(&c->entry[i]));
        }
    for (unsigned i = 1; i < c->entries; i++) {
        if (takes_part(walk, i, size))
            step(&walk[i], measured(&c->entry[0]), measured(&c->entry[i]));
        left += !arrived(&walk[i]);
    }
    return left;
}

unsigned metg_measure(const struct metg_case *what, const struct peer *const *impl, unsigned impls,
                      unsigned rounds, struct metg metg[METG_IMPLS_MAX])
{
    struct contest contest = { .entries = 0 };
    struct walk walk[CONTEST_MAX] = { { .enough = { 0, 0 } } };
    struct graph *g = graph_make(what->pattern, what->width, what->steps, 2);
    struct setup setup = { .body = body_spin,
                           .order = what->order,
                           .schedule = what->schedule,
                           .workers = 2,
                           .bind = what->schedule == SCHEDULE_STATIC,
                           .each = what->schedule == SCHEDULE_AUTO };
    unsigned count = 0;
    uint64_t last = UINT64_MAX;
    body_set_iterations(0);
    contest_add(&contest, &peer_loop, g, &setup, NULL);
    for (unsigned i = 0; i < impls && contest.entries <= METG_IMPLS_MAX; i++)
        if (impl[i] != &peer_loop && contest_add(&contest, impl[i], g, &setup, NULL))
            walk[contest.entries - 1].metg.peer = impl[i];
    for (struct size size = { first_task_ns, 0 }; size.task_ns < last_task_ns;
         size.task_ns *= task_step) {
        uint64_t iterations = body_iterations_for(size.task_ns);
        if (iterations == last)
            continue;
        last = iterations;
        if (measure_size(&contest, walk, &size, rounds) == 0)
            break;
        size.number++;
    }
    progress_show(NULL);
    for (unsigned i = 1; i < contest.entries; i++)
        metg[count++] = walk[i].metg;
    body_set_iterations(0);
    contest_end(&contest);
    graph_free(g);
    return count;
}
