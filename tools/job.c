/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies for the tasks of a graph: calibrated work and the check of their order. */
#include "tools/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

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

int job_init(struct job *job, const struct stg_graph *graph, uint64_t scale_ns, int overlap)
{
    _Atomic uint64_t *runs = malloc(graph->task_count * sizeof *runs);
    if (!runs)
        return -1;
    *job = (struct job){ graph, scale_ns, calibrate(), overlap, runs };
    job_clear(job);
    return 0;
}

void job_free(struct job *job)
{
    free(job->runs);
    job->runs = NULL;
}

void job_clear(struct job *job)
{
    for (uint32_t t = 0; t < job->graph->task_count; t++)
        atomic_init(&job->runs[t], 0);
}

static uint64_t runs_of(const struct job *job, uint32_t place)
{
    return atomic_load_explicit(&job->runs[place], memory_order_relaxed);
}

static int wrong(const struct job *job, uint32_t place, uint64_t replay, int64_t predecessor,
                 char *why, size_t why_bytes)
{
    uint32_t first = job->graph->first_number;
    if (predecessor < 0)
        snprintf(why, why_bytes,
                 "task %" PRIu32 " begins replay %" PRIu64 " after running %" PRIu64 " times",
                 place + first, replay, runs_of(job, place));
    else
        snprintf(why, why_bytes,
                 "task %" PRIu32 " begins replay %" PRIu64 " when its predecessor %" PRId64
                 " has run %" PRIu64 " times",
                 place + first, replay, predecessor + first, runs_of(job, (uint32_t)predecessor));
    return -1;
}

static int perform(struct job *job, uint32_t place, uint64_t replay, int work, char *why,
                   size_t why_bytes)
{
    const struct stg_task *task = &job->graph->tasks[place];
    if (runs_of(job, place) != replay)
        return wrong(job, place, replay, -1, why, why_bytes);
    for (uint32_t i = task->first; i < task->first + task->count; i++) {
        uint32_t predecessor = job->graph->predecessors[i];
        uint64_t runs = runs_of(job, predecessor);
        if (job->overlap ? runs <= replay : runs != replay + 1)
            return wrong(job, place, replay, predecessor, why, why_bytes);
    }
    if (work)
        spin((uint64_t)((double)task->time * (double)job->scale_ns * job->spins_per_ns));
    atomic_store_explicit(&job->runs[place], replay + 1, memory_order_relaxed);
    return 0;
}

static int body(rondo_task *self, const void *arg)
{
    const uint32_t *place = arg;
    char why[160];
    if (perform(rondo_task_context(self), *place, self->replay,
                *(const int *)rondo_task_param(self, 0) != 0, why, sizeof why))
        return rondo_task_fail(self, why);
    return 0;
}

/* Records task `place`; `nodes` holds those recorded before, `after` has room for all of them. */
static rondo_node record_task(struct job *job, rondo_subgraph subgraph, rondo_param work,
                              uint32_t place, const rondo_node *nodes, rondo_node *after)
{
    const struct stg_task *task = &job->graph->tasks[place];
    for (uint32_t i = 0; i < task->count; i++)
        after[i] = nodes[job->graph->predecessors[task->first + i]];
    char name[24];
    snprintf(name, sizeof name, "task %" PRIu32, place + job->graph->first_number);
    return rondo_record_task(subgraph, &(rondo_task_desc){
                                           .name = name,
                                           .fn = body,
                                           RONDO_ARG(place),
                                           .context = job,
                                           RONDO_PARAMS(work),
                                           .after = after,
                                           .after_count = task->count,
                                           .cost_ns = (double)task->time * (double)job->scale_ns,
                                           .flags = RONDO_NO_ACCESS,
                                       });
}

rondo_status job_record(struct job *job, rondo_subgraph subgraph, rondo_param work)
{
    uint32_t count = job->graph->task_count;
    rondo_node *nodes = calloc(count, 2 * sizeof *nodes);
    if (!nodes)
        return RONDO_ERR_MEMORY;
    for (uint32_t t = 0; t < count; t++) {
        nodes[t] = record_task(job, subgraph, work, t, nodes, nodes + count);
        /* A task counts its own runs, so those of two replays must not overlap. */
        if (job->overlap && nodes[t].id)
            rondo_record_edge(subgraph, nodes[t], nodes[t], 1);
    }
    free(nodes);
    return rondo_subgraph_status(subgraph);
}

int job_perform(struct job *job, uint64_t replay, int work, char *why, size_t why_bytes)
{
    for (uint32_t t = 0; t < job->graph->task_count; t++)
        if (perform(job, t, replay, work, why, why_bytes))
            return -1;
    return 0;
}

int job_check(const struct job *job, uint64_t replays, char *why, size_t why_bytes)
{
    for (uint32_t t = 0; t < job->graph->task_count; t++)
        if (runs_of(job, t) != replays) {
            snprintf(why, why_bytes,
                     "task %" PRIu32 " ran %" PRIu64 " times in %" PRIu64 " replays",
                     t + job->graph->first_number, runs_of(job, t), replays);
            return -1;
        }
    return 0;
}
