/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench metg`: METG(50%), the smallest task for which half of the threads' time is work, as
 * Task Bench defines it (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating
 * Parallel Runtime Performance", SC20): efficiency is the rate of work against that of all threads
 * doing nothing but work. Work is what one thread needs that calls the bodies in a loop, measured
 * in the same rounds. */
#include "bench/contest.h"
#include "bench/measures.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/support.h"

#include <math.h>
#include <stdio.h>

enum { SAMPLE_NS = 1000000, BEYOND = 2, PATIENCE = 6 };

static const double first_task_ns = 6, last_task_ns = 3e4, task_step = 1.3;

/* One implementation's way along the growing tasks. */
struct walk {
    struct metg metg;
    struct range task, efficiency; /* of the tasks measured last */
    unsigned enough[2];            /* how many in a row were efficient: by minimum, by median */
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
             &w->metg.task_ns.min, &w->metg.below);
    step_one(w->task.median, w->efficiency.median, loop.median, efficiency.median, &w->enough[1],
             &w->metg.task_ns.median, &w->metg.below);
    w->task = loop;
    w->efficiency = efficiency;
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

/* All entries that have not arrived, and the loop (entry 0), at one size of the tasks. */
static unsigned measure_size(struct contest *c, struct walk *walk, double task_ns, unsigned rounds)
{
    unsigned left = 0;
    /* What is hand-written calibrates its pauses while the bodies are empty. */
    body_set_iterations(0);
    contest_rebuild(c);
    body_set_iterations(body_iterations_for(task_ns));
    for (unsigned i = 0; i < c->entries; i++) {
        samples_clear(&c->entry[i].ns);
        if (i == 0 || !arrived(&walk[i]))
            contest_size(&c->entry[i], SAMPLE_NS);
    }
    for (unsigned round = 0; round < rounds; round++)
        for (unsigned i = 0; i < c->entries; i++) {
            if (i && arrived(&walk[i]))
                continue;
            progress_show("metg, width %u: tasks of %.0f ns, round %u, %s",
                          c->entry[i].graph->width, task_ns, round + 1, c->entry[i].peer->name);
            samples_add(&c->entry[i].ns, contest_sample(&c->entry[i]));
        }
    for (unsigned i = 1; i < c->entries; i++)
        if (!arrived(&walk[i])) {
            step(&walk[i], measured(&c->entry[0]), measured(&c->entry[i]));
            left += !arrived(&walk[i]);
        }
    return left;
}

unsigned metg_measure(uint32_t width, uint32_t steps, enum replay_order order,
                      const struct peer *const *impl, unsigned impls, unsigned rounds,
                      struct metg metg[METG_IMPLS_MAX])
{
    struct contest contest = { .entries = 0 };
    struct walk walk[CONTEST_MAX] = { { .enough = { 0, 0 } } };
    struct graph *g = graph_make(GRAPH_STENCIL, width, steps, 2);
    struct setup setup = { .body = body_spin, .order = order, .workers = 2, .bind = 1 };
    unsigned count = 0;
    body_set_iterations(0);
    contest_add(&contest, &peer_loop, g, &setup, NULL);
    for (unsigned i = 0; i < impls && contest.entries <= METG_IMPLS_MAX; i++)
        if (impl[i] != &peer_loop && contest_add(&contest, impl[i], g, &setup, NULL))
            walk[contest.entries - 1].metg.peer = impl[i];
    for (double task = first_task_ns; task < last_task_ns; task *= task_step)
        if (measure_size(&contest, walk, task, rounds) == 0)
            break;
    progress_show(NULL);
    for (unsigned i = 1; i < contest.entries; i++)
        metg[count++] = walk[i].metg;
    body_set_iterations(0);
    contest_end(&contest);
    graph_free(g);
    return count;
}

const char *metg_text(const struct metg *metg, double task_ns)
{
    static char text[4][32];
    static unsigned turn;
    char *to = text[turn++ % 4];
    if (task_ns > 0)
        snprintf(to, sizeof text[0], "%s%.1f", metg->below ? "<" : "", task_ns);
    else
        snprintf(to, sizeof text[0], "-");
    return to;
}

int command_metg(const struct options *o)
{
    static const uint32_t widths[] = { 2, 8 };
    struct table *t = table_make("impl,pattern,width,steps,metg_ns_min,metg_ns_median");
    struct metg metg[METG_IMPLS_MAX];
    unsigned all = 0;
    while (peers[all])
        all++;
    for (unsigned i = 0; i < (o->width ? 1u : 2u); i++) {
        uint32_t width = o->width ? o->width : widths[i], steps = o->steps ? o->steps : 1000;
        const char *refusal = graph_refusal(GRAPH_STENCIL, width, steps, 2);
        if (refusal)
            bench_die(BENCH_EXIT_USAGE, "--width %u --steps %u: %s", width, steps, refusal);
        unsigned count = metg_measure(width, steps, o->order, o->impls ? o->impl : peers,
                                      o->impls ? o->impls : all, o->rounds ? o->rounds : 7, metg);
        for (unsigned k = 0; k < count; k++) {
            table_cell(t, "%s", metg[k].peer->name);
            table_cell(t, "stencil_1d");
            table_cell(t, "%u", width);
            table_cell(t, "%u", steps);
            table_cell(t, "%s", metg_text(&metg[k], metg[k].task_ns.min));
            table_cell(t, "%s", metg_text(&metg[k], metg[k].task_ns.median));
        }
    }
    table_write(t, o->format, stdout);
    table_free(t);
    return 0;
}
