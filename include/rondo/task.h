/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task sees while it runs. */
#ifndef RONDO_TASK_H
#define RONDO_TASK_H

#include <rondo/buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a node's constants lie in the tables of rondo_task. Frozen. */
typedef struct rondo_task_node {
    uint32_t place;   /* first entry in `places` */
    uint32_t param;   /* first entry in `param_at` */
    uint32_t chunk;   /* entry in `chunks`; 0: an empty region */
    uint32_t context; /* entry in `contexts`; 0: NULL */
} rondo_task_node;

/* A task's view. Frozen prefix of a larger structure: read it through the functions below; it is
 * valid only inside the call. The tables are the exec's; `base` and `params` are this replay's. */
typedef struct rondo_task {
    const uint32_t *node; /* this node's number */
    const rondo_task_node *nodes;
    void *const *base; /* element (0,0,0) of each slot */
    const uint32_t *places;
    const char *params;
    const uint32_t *param_at;
    const rondo_region *chunks;
    void *const *contexts;
    void *stream;              /* NULL on a CPU */
    uint64_t replay;           /* number of the replay, from 0 */
    rondo_processor processor; /* the processor it runs on; RONDO_ANY_CPU on a thread of its own */
    uint32_t rank, team;       /* RONDO_SPMD: which of how many; RONDO_HOSTED: 0 and the size of the
                                  team; else 0 and 1 */
} rondo_task;

/* A task. Returns 0; anything else fails the replay. May not block on Rondo: a wait for an
 * incomplete event and a replay into a full window return an error at once. */
typedef int rondo_task_fn(rondo_task *self, const void *arg);

/* The address of element (0,0,0) of the slot of access `i`, whatever the access's region, so that
 * loop bodies keep their global indices. */
static inline const void *rondo_task_read(const rondo_task *self, unsigned i)
{
    return self->base[self->places[self->nodes[*self->node].place + i]];
}
static inline void *rondo_task_write(const rondo_task *self, unsigned i)
{
    return self->base[self->places[self->nodes[*self->node].place + i]];
}
/* This replay's value of the task's parameter `i`. */
static inline const void *rondo_task_param(const rondo_task *self, unsigned i)
{
    return self->params + self->param_at[self->nodes[*self->node].param + i];
}
/* The part of the range of rondo_record_for that this node does; an empty region elsewhere. */
static inline const rondo_region *rondo_task_chunk(const rondo_task *self)
{
    return &self->chunks[self->nodes[*self->node].chunk];
}
/* The `context` the task was recorded with. */
static inline void *rondo_task_context(const rondo_task *self)
{
    return self->contexts[self->nodes[*self->node].context];
}

/* The shape of the slot of access `access`, and the box it covers (with halo, clipped; of a
 * periodic halo the part inside the slot). INVALID: no such access. Only inside the task. */
RONDO_API rondo_status rondo_task_view(const rondo_task *self, unsigned access, rondo_shape *shape,
                                       rondo_region *region);

/* RONDO_MAY_STOP: replays of this call beyond this one and the node's stop_lag do not run; no more
 * than a note in the result (`stopped`) for the last replay of a call. Only inside the task. */
RONDO_API void rondo_task_stop(rondo_task *self);
/* RONDO_SPMD: waits for all ranks of the team. Only inside the task. */
RONDO_API void rondo_task_barrier(rondo_task *self);
/* Memory of the lane that runs the task: the same block, contents kept, for every task that this
 * lane runs, for the exec's life; grown to `bytes` when it is smaller (its contents move along).
 * Aligned to 64. NULL when there is no memory. Instead of thread-local storage: never shared by two
 * running tasks. Only inside the task. */
RONDO_API void *rondo_task_scratch(rondo_task *self, size_t bytes);
/* RONDO_DETACHED: the node ends when rondo_completion_finish is called, not when the function
 * returns; what it was given (arg, buffers, parameters) stays valid until then. Once per execution,
 * {0} after that. A function that returns an error after detaching fails the node all the same, and
 * the completion is void. Only inside the task. */
RONDO_API rondo_completion rondo_task_detach(rondo_task *self);
/* Ends the node: RONDO_OK, or RONDO_ERR_FAILED with the reason (`why` is copied, may be NULL). Any
 * thread, inside and outside of tasks, never blocks. STALE: it was finished before, or is void. */
RONDO_API rondo_status rondo_completion_finish(rondo_completion completion, rondo_status status,
                                               const char *why);

/* Says why the task is about to fail, and returns the value to return. `why` is copied (207
 * characters are kept). */
RONDO_API int rondo_task_fail(rondo_task *self, const char *why);

#ifdef __cplusplus
}
#endif
#endif
