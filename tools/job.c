/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies for the tasks of a graph: calibrated work and the check of their order. */
#include "tools/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* What a body is given. Blocks of them stay where they are while more tasks come. */
struct job_task {
    struct job *job;
    double cost_ns;
    uint32_t number;
};

enum { BLOCK = 1024 };
struct job_block {
    struct job_task task[BLOCK];
};

/* A chain of multiplications that the compiler can neither shorten nor overlap. */
static void spin(uint64_t times)
{
    uint64_t x = times;
    for (uint64_t i = 0; i < times; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

/* The fastest of a few runs is the one that nothing disturbed. */
static double calibrate(void)
{
    enum { SPINS = 100000, TRIES = 15 };
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        spin(SPINS);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns =
            (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        if (ns > 0 && SPINS / ns > best)
            best = SPINS / ns;
    }
    return best;
}

/* ---- marks */

static uint32_t mark_of(const struct job *job, uint32_t node, uint64_t replay)
{
    const struct job_state *s = job->now;
    return atomic_load_explicit(&s->mark[(size_t)node * s->marks + replay % s->marks],
                                memory_order_relaxed);
}

static void set_mark(struct job *job, uint32_t node, uint64_t replay)
{
    struct job_state *s = job->now;
    atomic_store_explicit(&s->mark[(size_t)node * s->marks + replay % s->marks],
                          (uint32_t)replay + 1, memory_order_relaxed);
}

/* What the mark of a replay must be before a task runs in it: that of the replay it shares the mark
 * with. */
static uint32_t mark_before(const struct job_state *s, uint64_t replay)
{
    return replay < s->marks ? 0 : (uint32_t)(replay - s->marks) + 1;
}

static const struct job_task *task_of(const struct job *job, uint32_t node)
{
    const struct job_task *task = NULL;
    /* Calls are asked for a body as tasks are, and take none. */
    if (node / BLOCK < job->blocks && job->graph.node[node].kind == RONDO_NODE_TASK)
        task = &job->block[node / BLOCK]->task[node % BLOCK];
    return task && task->job ? task : NULL;
}

static int runs_always(const struct job *job, uint32_t node)
{
    return task_of(job, node) && !job->graph.node[node].conditional;
}

/* ---- bodies */

static int wrong_count(const struct job *job, uint32_t node, uint64_t replay, char *why,
                       size_t why_bytes)
{
    uint32_t mark = mark_of(job, node, replay);
    if (mark == (uint32_t)replay + 1)
        snprintf(why, why_bytes, "'%.80s' runs twice in replay %" PRIu64,
                 job->graph.node[node].name, replay);
    else
        snprintf(why, why_bytes,
                 "'%.80s' begins replay %" PRIu64 " and did not run in replay %" PRIu64,
                 job->graph.node[node].name, replay, replay - job->now->marks);
    return -1;
}

static int check_predecessors(const struct job *job, uint32_t node, uint64_t replay, char *why,
                              size_t why_bytes)
{
    const struct graph *g = &job->graph;
    for (size_t i = g->first[node]; i < g->first[node + 1]; i++) {
        const struct graph_edge *e = &g->edge[i];
        if (e->distance > job->now->reach || e->distance > replay || !runs_always(job, e->from))
            continue;
        if (mark_of(job, e->from, replay - e->distance) == (uint32_t)(replay - e->distance) + 1)
            continue;
        snprintf(why, why_bytes,
                 "'%.60s' begins replay %" PRIu64
                 " when its predecessor '%.60s' has not run in replay %" PRIu64,
                 g->node[node].name, replay, g->node[e->from].name, replay - e->distance);
        return -1;
    }
    return 0;
}

static int check_begin(const struct job *job, uint32_t node, uint64_t replay, char *why,
                       size_t why_bytes)
{
    uint32_t mark = mark_of(job, node, replay);
    int wrong = job->graph.node[node].conditional ? mark == (uint32_t)replay + 1
                                                  : mark != mark_before(job->now, replay);
    return wrong ? wrong_count(job, node, replay, why, why_bytes)
                 : check_predecessors(job, node, replay, why, why_bytes);
}

static void compute(const struct job *job, const struct job_task *task)
{
    if (job->work)
        spin((uint64_t)(task->cost_ns * job->spins_per_ns));
}

/* Of a team the first rank checks: the others begin with it, and end before the node has. */
static int body(rondo_task *self, const void *arg)
{
    const struct job_task *task = rondo_task_context(self);
    char why[200];
    (void)arg;
    if (!self->rank && check_begin(task->job, task->number, self->replay, why, sizeof why))
        return rondo_task_fail(self, why);
    compute(task->job, task);
    if (!self->rank)
        set_mark(task->job, task->number, self->replay);
    return 0;
}

static int make_room(struct job *job, uint32_t number)
{
    while (number / BLOCK >= job->blocks) {
        struct job_block **grown =
            realloc(job->block, (job->blocks + 1) * sizeof(struct job_block *));
        if (!grown)
            return -1;
        job->block = grown;
        if (!(grown[job->blocks] = calloc(1, sizeof **grown)))
            return -1;
        job->blocks++;
    }
    return 0;
}

static rondo_status give_body(void *context, uint32_t number, rondo_task_desc *desc)
{
    struct job *job = context;
    /* A launch may not compute: it would keep a worker from its tasks. */
    if (desc->on >> 24 == RONDO_GPU(0) >> 24)
        return RONDO_OK;
    if (make_room(job, number))
        return RONDO_ERR_MEMORY;
    struct job_task *task = &job->block[number / BLOCK]->task[number % BLOCK];
    *task = (struct job_task){ job, desc->cost_ns, number };
    desc->fn = body;
    desc->context = task;
    return RONDO_OK;
}

int job_open(struct job *job, const struct file *file, rondo_runtime runtime,
             const struct file_options *options)
{
    *job = (struct job){ .spins_per_ns = calibrate() };
    struct file_bodies bodies = { give_body, job };
    int status = graph_record(file, runtime, options, &bodies, &job->file, &job->graph);
    if (status)
        job_close(job);
    for (uint32_t v = 0; v < job->graph.nodes; v++) {
        job->tasks += task_of(job, v) != NULL;
        job->always += (uint32_t)runs_always(job, v);
    }
    return status;
}

void job_close(struct job *job)
{
    if (job->file.subgraph.id)
        (void)rondo_subgraph_destroy(job->file.subgraph);
    graph_free(&job->graph);
    for (size_t i = 0; i < job->blocks; i++)
        free(job->block[i]);
    free(job->block);
    *job = (struct job){ 0 };
}

/* ---- states */

int job_state_init(struct job_state *state, const struct job *job, uint32_t in_flight)
{
    /* A mark that an edge reaches back to must not be that of a replay ahead. */
    uint32_t marks = in_flight > 1 ? 2 * in_flight : 1, nodes = job->graph.nodes;
    *state = (struct job_state){ .marks = marks, .reach = in_flight > 1 ? in_flight : 0 };
    state->mark = calloc(nodes ? nodes : 1, marks * sizeof *state->mark);
    return state->mark ? 0 : -1;
}

void job_state_free(struct job_state *state)
{
    free(state->mark);
    state->mark = NULL;
}

int job_perform(struct job *job, uint64_t replay, char *why, size_t why_bytes)
{
    for (uint32_t k = 0; k < job->graph.nodes; k++) {
        uint32_t node = job->graph.order[k];
        const struct job_task *task = task_of(job, node);
        if (!task)
            continue;
        if (check_begin(job, node, replay, why, why_bytes))
            return -1;
        compute(job, task);
        set_mark(job, node, replay);
    }
    return 0;
}

int job_check(const struct job *job, const struct job_state *state, char *why, size_t why_bytes)
{
    uint64_t from = state->replays > state->marks ? state->replays - state->marks : 0;
    for (uint32_t node = 0; node < job->graph.nodes; node++)
        for (uint64_t r = from; runs_always(job, node) && r < state->replays; r++) {
            uint32_t mark = state->mark[(size_t)node * state->marks + r % state->marks];
            if (mark == (uint32_t)r + 1)
                continue;
            snprintf(why, why_bytes, "'%.80s' did not run in replay %" PRIu64,
                     job->graph.node[node].name, r);
            return -1;
        }
    return 0;
}
