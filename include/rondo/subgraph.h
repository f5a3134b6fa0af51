/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording a subgraph: slots, parameters, tasks, copies and edges. */
#ifndef RONDO_SUBGRAPH_H
#define RONDO_SUBGRAPH_H

#include <rondo/counter.h>
#include <rondo/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The builders (rondo_subgraph_slot, rondo_subgraph_param, rondo_record_...) return a handle, {0}
 * when refused. A refused call adds nothing but its error, and the first error sticks to the
 * subgraph: rondo_subgraph_status tells it, rondo_instantiate returns it,
 * rondo_subgraph_clear_error forgets it. Everything a description points to is copied before the
 * call returns, except `context`. One thread at a time records into a subgraph. */

enum { RONDO_EDGES_EXPLICIT = 1 };

typedef struct rondo_subgraph_desc {
    const char *name; /* copied; NULL: "subgraph" */
    /* RONDO_EDGES_EXPLICIT: only the edges given by hand order nodes (and rondo_record_call, which
     * is in sequence everywhere); accesses then only check, and two unordered nodes that conflict
     * are an error of rondo_instantiate. */
    uint32_t flags;
} rondo_subgraph_desc;

/* Makes an empty subgraph. `desc` may be NULL. Ended by rondo_subgraph_destroy. */
RONDO_API rondo_status rondo_subgraph_create_sized(rondo_runtime runtime,
                                                   const rondo_subgraph_desc *desc,
                                                   size_t desc_bytes, rondo_subgraph *subgraph);
/* Execs made from the subgraph live on. */
RONDO_API rondo_status rondo_subgraph_destroy(rondo_subgraph subgraph);
/* The first error that stuck, its message in rondo_error_message; RONDO_OK when there is none. */
RONDO_API rondo_status rondo_subgraph_status(rondo_subgraph subgraph);
RONDO_API rondo_status rondo_subgraph_clear_error(rondo_subgraph subgraph);
/* Writes the graph in Graphviz's DOT, piece by piece; edges show their source (given by hand,
 * inferred from which slot, carried over how many replays). `write` is called on this thread only.
 */
RONDO_API rondo_status rondo_subgraph_write_dot(rondo_subgraph subgraph,
                                                void (*write)(void *context, const char *text),
                                                void *context);

/* ---- slots and parameters */

typedef struct rondo_slot_desc {
    const char *name;  /* copied; NULL: "slot" */
    rondo_shape shape; /* all zero: that of `buffer` or ring[0]; else it must fit in them */
    rondo_buffer buffer;
    /* A ring: replay i uses ring[(ring_first + i * stride) % ring_count]; ring_stride 0 means 1.
     * The ring advances per replay executed: a failed one counts, a cancelled one does not. */
    const rondo_buffer *ring;
    uint32_t ring_count, ring_first, ring_stride;
    /* This slot may share bytes with that one; their accesses are ordered as if they did. */
    rondo_slot alias_of;
    uint32_t flags; /* RONDO_TEMPORARY, RONDO_ZEROED */
    /* Where the slot's bytes are to be current at the end of every replay, whatever the nodes do:
     * RONDO_HOST for a program that looks at them each step. 0: wherever they are. Of slots with
     * buffers; what is bound per replay is in host memory in any case. */
    rondo_memory at_end;
} rondo_slot_desc;

enum {
    RONDO_TEMPORARY = 1, /* memory of Rondo's own, anew in each replay; undefined until written */
    RONDO_ZEROED = 2     /* with RONDO_TEMPORARY: every replay begins with zeros */
};

/* A named place that a buffer fills. With `buffer`: always that one. With `ring`: by turns. With
 * RONDO_TEMPORARY: by Rondo, one per replay in flight, so it orders nothing between replays. With a
 * `shape` whose elem_bytes is 0 and whose extents are given: by nothing, a token that only orders
 * (rondo_task_read of it is NULL); a token is carried from replay to replay like a buffer. With
 * none of these: bound anew at every replay (rondo_replay_args.bindings), and `shape` is needed. */
RONDO_API rondo_slot rondo_subgraph_slot_sized(rondo_subgraph subgraph, const rondo_slot_desc *desc,
                                               size_t desc_bytes);

/* A named value of `bytes` bytes given anew at each replay. `initial`: what replays see that give
 * none, copied; NULL: every replay must give it, or rondo_exec_set_param once. */
RONDO_API rondo_param rondo_subgraph_param(rondo_subgraph subgraph, const char *name, size_t bytes,
                                           const void *initial);

/* ---- accesses: slot, mode, region */

enum {
    RONDO_READ = 1,
    RONDO_WRITE = 2 /* overwrites every element of its region */,
    RONDO_READ_WRITE = 3,
    /* Reads and writes, one node at a time; nodes whose commuting accesses meet in a row run in an
     * order that Rondo chooses at instantiation, the same in every mode and on every machine. */
    RONDO_COMMUTE = 7,
    /* Adds (or as `op` says) to the region. The node sees memory of its own, set to the operation's
     * neutral element; the shares are combined into the slot in the order of recording, the same
     * bits in every mode. `type` and `op` are needed. */
    RONDO_REDUCE = 11
};
enum { RONDO_F64 = 1, RONDO_F32 = 2, RONDO_I64 = 3, RONDO_I32 = 4 };
enum { RONDO_SUM = 1, RONDO_MIN = 2, RONDO_MAX = 3 };
enum {
    RONDO_CLIP = 1,  /* the halo ends at the slot's border */
    RONDO_WRAP = 2,  /* the halo goes on at the other side */
    RONDO_STAR = 4,  /* the halo has no corners */
    RONDO_CHUNK = 8, /* rondo_record_for: the region is the node's chunk */
};

/* Frozen. The region is widened by halo[d] elements on both sides of dimension d. */
typedef struct rondo_access {
    rondo_slot slot;
    uint8_t mode, flags;
    uint8_t type, op; /* RONDO_REDUCE: RONDO_F64..., RONDO_SUM...; else 0 */
    int16_t halo[3];
    uint16_t zero16;
    uint32_t zero32;
    rondo_region region;
} rondo_access;

/* ---- tasks */

enum {
    /* Runs once, on a thread of its own that may use all CPUs of the team, while the team's workers
     * sleep: for code that starts threads itself (OpenMP, BLAS). */
    RONDO_HOSTED = 1,
    RONDO_SPMD = 2, /* `fn` runs on every rank of the team at once; rondo_task_barrier */
    /* May end later than its function returns: see rondo_task_detach. */
    RONDO_DETACHED = 4,
    RONDO_MAY_STOP = 8,   /* may call rondo_task_stop */
    RONDO_MAY_BLOCK = 16, /* runs on a thread of its own and may wait for events */
    RONDO_NO_ACCESS = 32  /* touches nothing that Rondo knows of */
};

/* When a node runs; all that is set must hold. A node that does not run orders nothing by its
 * accesses; edges by hand still hold through it. Frozen. */
typedef struct rondo_when {
    rondo_param param; /* runs if any byte of the parameter is not 0 */
    rondo_slot flag; /* runs if the int32_t at the slot's first element is not 0 (a read access) */
    /* Runs if n % every == phase, n counting the exec's executed replays from 0. every 0: always.
     */
    uint32_t every, phase;
} rondo_when;

/* param[from .. from+bytes) is written to arg[to .. to+bytes) before each execution. Frozen. */
typedef struct rondo_patch {
    rondo_param param;
    uint32_t from, to, bytes, zero32;
} rondo_patch;

typedef struct rondo_task_desc {
    const char *name; /* copied; NULL: "task" */
    uint64_t tag;     /* the caller's own id, returned in results */
    rondo_task_fn *fn;
    const void *
        arg; /* copied; the copy is aligned for any type of its size, at most to 64; NULL without */
    size_t arg_bytes;
    void *context; /* given as is; see rondo_task_context */
    /* Called once with `context`, when the subgraph and every exec made from it are gone; by the
     * cleaner, or by the thread that destroys last. NULL: nothing to do. */
    void (*release)(void *context);
    /* What the task touches. A task without accesses touches everything, unless RONDO_NO_ACCESS. */
    const rondo_access *accesses;
    uint32_t access_count;
    uint32_t param_count;
    const rondo_param *params; /* read by rondo_task_param(self, i) */
    const rondo_patch *patches;
    uint32_t patch_count;
    uint32_t after_count;
    const rondo_node *after; /* nodes that precede this one in the same replay */
    /* Nodes of replay i that precede this node in replay i + carried_distance (0 means 1). */
    const rondo_node *carried;
    uint32_t carried_count, carried_distance;
    rondo_processor on; /* RONDO_ANY_CPU: Rondo chooses */
    int32_t priority;   /* among nodes that are ready: greater goes first */
    double cost_ns;     /* expected run time; 0: not known */
    uint32_t flags;     /* RONDO_NO_ACCESS... */
    uint32_t team;      /* RONDO_HOSTED, RONDO_SPMD: processors of the team; 0 or more than the exec
                           has: all of them */
    rondo_when when;
    /* RONDO_MAY_STOP: what this node decides in replay i keeps replays from i + 1 + stop_lag on
     * from running; up to there they run in any case. */
    uint32_t stop_lag;
} rondo_task_desc;

RONDO_API rondo_node rondo_record_task_sized(rondo_subgraph subgraph, const rondo_task_desc *desc,
                                             size_t desc_bytes);

typedef struct rondo_for_desc {
    const rondo_task_desc
        *task;          /* accesses with RONDO_CHUNK take the node's chunk as their region */
    size_t task_bytes;  /* sizeof(rondo_task_desc); 0 means the same */
    rondo_region range; /* counts at least 1 in dimension 0; an absent dimension has count 0 */
    uint32_t chunks[3]; /* per dimension; 0: 1. Sizes differ by at most one, larger first */
} rondo_for_desc;

/* One node per chunk of a range; the handle stands for all of them. A chunk's number goes to its
 * name. */
RONDO_API rondo_node rondo_record_for_sized(rondo_subgraph subgraph, const rondo_for_desc *desc,
                                            size_t desc_bytes);

/* A plain function, RONDO_HOSTED with all processors as its team, ordered after everything recorded
 * before it and before everything recorded after it, carried over replays too. */
RONDO_API rondo_node rondo_record_call(rondo_subgraph subgraph, const char *name,
                                       void (*fn)(void *context), void *context);

typedef struct rondo_move_desc {
    const char *name; /* copied; NULL: "copy" or "fill" */
    uint64_t tag;
    rondo_access from,
        to; /* a fill has no `from`. `mode` may be 0. Equal counts and element sizes */
    /* A parameter of 1 to 3 int64_t: how many elements to move per dimension, from `first` on, at
     * most what the region holds (else the node fails). {0}: the whole region. */
    rondo_param count;
    const void *value; /* fill: one element, copied */
    size_t value_bytes;
    const rondo_node *after;
    uint32_t after_count;
    int32_t priority;
    double cost_ns;
    rondo_processor on;
    rondo_when when;
    uint8_t type, op; /* rondo_record_allreduce: RONDO_F64..., RONDO_SUM... */
} rondo_move_desc;

/* Copies a box of elements; `from` and `to` may not overlap. */
RONDO_API rondo_node rondo_record_copy_sized(rondo_subgraph subgraph, const rondo_move_desc *desc,
                                             size_t desc_bytes);
/* Fills a box with one element's value. */
RONDO_API rondo_node rondo_record_fill_sized(rondo_subgraph subgraph, const rondo_move_desc *desc,
                                             size_t desc_bytes);

/* Combines `from` of every rank into `to` of every rank (in place without `to`), by `type` and
 * `op`. One process is one rank: a copy. */
RONDO_API rondo_node rondo_record_allreduce_sized(rondo_subgraph subgraph,
                                                  const rondo_move_desc *desc, size_t desc_bytes);

typedef struct rondo_sync_desc {
    const char *name; /* copied; NULL: "wait" or "signal" */
    uint64_t tag;
    rondo_counter counter;
    /* The value waited for, or set: first + step * n, n counting the exec's executed replays from
     * 0. */
    uint64_t first, step;
    rondo_param event; /* wait only, instead of `counter`: a parameter of sizeof(rondo_event) */
    const rondo_node *after; /* nodes that precede it */
    uint32_t after_count;
    int32_t priority;
    rondo_when when;
} rondo_sync_desc;

/* A node that ends when the counter has reached the value, or the event given by a parameter is
 * complete. Holds up only what comes after it. Touches nothing: order it by edges. */
RONDO_API rondo_node rondo_record_wait_sized(rondo_subgraph subgraph, const rondo_sync_desc *desc,
                                             size_t desc_bytes);
/* A node that raises the counter to the value, if it is less. */
RONDO_API rondo_node rondo_record_signal_sized(rondo_subgraph subgraph, const rondo_sync_desc *desc,
                                               size_t desc_bytes);

/* What fills a slot of an inner subgraph. Frozen. */
typedef struct rondo_slot_map {
    rondo_slot inner, outer;
} rondo_slot_map;

typedef struct rondo_inner_desc {
    const char *name; /* goes before the inner nodes' names as "name/"; NULL: the inner's name */
    const rondo_slot_map
        *map; /* inner slots that are slots of the outer subgraph, of equal shape */
    uint32_t map_count, after_count;
    const rondo_node *after; /* nodes that precede all of the inner nodes */
    rondo_when when;         /* of all inner nodes, beside their own */
} rondo_inner_desc;

/* Records all nodes of `inner` as it stands now; the handle stands for all of them. Slots that are
 * not mapped become slots of the outer subgraph with the same buffers; parameters become parameters
 * of it. Handles of both kinds of the inner subgraph name them in replays of the outer one (and
 * name the same ones when `inner` is recorded again). `inner` may be destroyed afterwards. Refused:
 * an inner subgraph with an error, of another runtime, or the outer one itself. */
RONDO_API rondo_node rondo_record_subgraph_sized(rondo_subgraph subgraph, rondo_subgraph inner,
                                                 const rondo_inner_desc *desc, size_t desc_bytes);

/* An edge by hand between recorded nodes: `from` of replay i precedes `to` of replay i + distance.
 * With distance 0 a cycle is possible; rondo_instantiate refuses it, naming the path. */
RONDO_API rondo_status rondo_record_edge(rondo_subgraph subgraph, rondo_node from, rondo_node to,
                                         uint32_t distance);

/* ---- inline */

static inline rondo_status rondo_subgraph_create(rondo_runtime runtime,
                                                 const rondo_subgraph_desc *desc,
                                                 rondo_subgraph *subgraph)
{
    return rondo_subgraph_create_sized(runtime, desc, sizeof(rondo_subgraph_desc), subgraph);
}
static inline rondo_slot rondo_subgraph_slot(rondo_subgraph subgraph, const rondo_slot_desc *desc)
{
    return rondo_subgraph_slot_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_task(rondo_subgraph subgraph, const rondo_task_desc *desc)
{
    return rondo_record_task_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_for(rondo_subgraph subgraph, const rondo_for_desc *desc)
{
    return rondo_record_for_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_copy(rondo_subgraph subgraph, const rondo_move_desc *desc)
{
    return rondo_record_copy_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_fill(rondo_subgraph subgraph, const rondo_move_desc *desc)
{
    return rondo_record_fill_sized(subgraph, desc, sizeof *desc);
}

static inline rondo_node rondo_record_allreduce(rondo_subgraph subgraph,
                                                const rondo_move_desc *desc)
{
    return rondo_record_allreduce_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_wait(rondo_subgraph subgraph, const rondo_sync_desc *desc)
{
    return rondo_record_wait_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_signal(rondo_subgraph subgraph, const rondo_sync_desc *desc)
{
    return rondo_record_signal_sized(subgraph, desc, sizeof *desc);
}
static inline rondo_node rondo_record_subgraph(rondo_subgraph subgraph, rondo_subgraph inner,
                                               const rondo_inner_desc *desc)
{
    return rondo_record_subgraph_sized(subgraph, inner, desc, sizeof(rondo_inner_desc));
}

static inline rondo_region rondo_whole(void)
{
    rondo_region region = { { 0, 0, 0 }, { 0, 0, 0 } };
    return region;
}
static inline rondo_region rondo_span(int64_t first, int64_t count)
{
    rondo_region region = rondo_whole();
    region.first[0] = first;
    region.count[0] = count;
    return region;
}
static inline rondo_region rondo_box(int64_t x, int64_t y, int64_t nx, int64_t ny)
{
    rondo_region region = rondo_span(x, nx);
    region.first[1] = y;
    region.count[1] = ny;
    return region;
}
static inline rondo_region rondo_box3(int64_t x, int64_t y, int64_t z, int64_t nx, int64_t ny,
                                      int64_t nz)
{
    rondo_region region = rondo_box(x, y, nx, ny);
    region.first[2] = z;
    region.count[2] = nz;
    return region;
}

/* Accesses are made by functions, so that C++ and other languages can make them too. */
static inline rondo_access rondo_access_of(rondo_slot slot, unsigned mode, rondo_region region)
{
    rondo_access access = { { 0 }, 0, 0, 0, 0, { 0, 0, 0 }, 0, 0, { { 0, 0, 0 }, { 0, 0, 0 } } };
    access.slot = slot;
    access.mode = (uint8_t)mode;
    access.region = region;
    return access;
}
static inline rondo_access rondo_read(rondo_slot slot, rondo_region region)
{
    return rondo_access_of(slot, RONDO_READ, region);
}
static inline rondo_access rondo_write(rondo_slot slot, rondo_region region)
{
    return rondo_access_of(slot, RONDO_WRITE, region);
}
static inline rondo_access rondo_read_write(rondo_slot slot, rondo_region region)
{
    return rondo_access_of(slot, RONDO_READ_WRITE, region);
}
static inline rondo_access rondo_commute(rondo_slot slot, rondo_region region)
{
    return rondo_access_of(slot, RONDO_COMMUTE, region);
}
static inline rondo_access rondo_reduce(rondo_slot slot, rondo_region region, unsigned type,
                                        unsigned op)
{
    rondo_access access = rondo_access_of(slot, RONDO_REDUCE, region);
    access.type = (uint8_t)type;
    access.op = (uint8_t)op;
    return access;
}
/* A rondo_record_for node's own chunk, with a halo clipped at the border and without corners. */
static inline rondo_access rondo_chunk(rondo_slot slot, unsigned mode, int halo0, int halo1)
{
    rondo_access access = rondo_access_of(slot, mode, rondo_whole());
    access.flags = RONDO_CHUNK | RONDO_CLIP | RONDO_STAR;
    access.halo[0] = (int16_t)halo0;
    access.halo[1] = (int16_t)halo1;
    return access;
}

#ifndef __cplusplus
/* These only count. */
#define RONDO_COUNT(T, ...) ((uint32_t)(sizeof((T[]){ __VA_ARGS__ }) / sizeof(T)))
#define RONDO_ACCESSES(...)                      \
    .accesses = (rondo_access[]){ __VA_ARGS__ }, \
    .access_count = RONDO_COUNT(rondo_access, __VA_ARGS__)
#define RONDO_AFTER(...) \
    .after = (rondo_node[]){ __VA_ARGS__ }, .after_count = RONDO_COUNT(rondo_node, __VA_ARGS__)
#define RONDO_PARAMS(...) \
    .params = (rondo_param[]){ __VA_ARGS__ }, .param_count = RONDO_COUNT(rondo_param, __VA_ARGS__)
#define RONDO_PATCHES(...) \
    .patches = (rondo_patch[]){ __VA_ARGS__ }, .patch_count = RONDO_COUNT(rondo_patch, __VA_ARGS__)
#define RONDO_ARG(v) .arg = &(v), .arg_bytes = sizeof(v)
#define RONDO_TASK(...) \
    .task = &(rondo_task_desc){ __VA_ARGS__ }, .task_bytes = sizeof(rondo_task_desc)
#endif

#ifdef __cplusplus
}
#endif
#endif
