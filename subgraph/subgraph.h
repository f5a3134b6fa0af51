/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording: what rondo_subgraph_... and rondo_record_... build and instantiation reads. Plain
 * data, no threads. Names, argument bytes and lists lie in pools; an index of a pool never changes.
 */
#ifndef RD_SUBGRAPH_SUBGRAPH_H
#define RD_SUBGRAPH_SUBGRAPH_H

#include "src/base/error.h"
#include "src/machine/buffer.h"
#include "subgraph/graph.h"

#include <rondo/kernel.h>
#include <rondo/read.h>

enum rd_node_kind {
    RD_NODE_TASK,
    RD_NODE_CALL,
    RD_NODE_COPY,
    RD_NODE_FILL,
    RD_NODE_ALLREDUCE, /* of one rank: a copy, or nothing where it is in place */
    RD_NODE_WAIT,
    RD_NODE_SIGNAL,
    RD_NODE_KERNEL, /* on a device; rd_extra.kernel */
    RD_NODE_LAUNCH, /* on a device: a task's function that enqueues */
    /* made by rd_subgraph_expand */
    RD_NODE_COMBINE, /* adds the shares of RONDO_REDUCE accesses to their slot */
    RD_NODE_RANK, /* a rank of a team but the first, whose accesses it has; no more edges of its own
                   */
    /* made by rd_segments: the submission of a segment of a device, and its end */
    RD_NODE_SUBMIT,
    RD_NODE_SETTLE,
};
enum rd_slot_kind {
    RD_SLOT_FIXED,
    RD_SLOT_RING,
    RD_SLOT_BOUND,
    RD_SLOT_TEMPORARY, /* memory of the exec's, one per replay in flight */
    RD_SLOT_TOKEN,     /* no memory; its own address range in the analysis, elements of 1 byte */
};
/* rd_node.bound: a processor's index, or RD_PROCESSOR_ANY, or RD_ON_DEVICE + a device's. */
enum { RD_PROCESSOR_ANY = 0xffff, RD_ON_DEVICE = 0x8000 };
static inline int rd_bound_is_device(uint16_t bound)
{
    return bound >= RD_ON_DEVICE && bound != RD_PROCESSOR_ANY;
}

/* A normalised box: counts at least 1, absent dimensions first 0 and count 1. Same layout as
 * rondo_region. */
typedef rondo_region rd_box;

struct rd_slot {
    uint32_t name; /* offset in names */
    uint8_t kind;
    rondo_shape shape; /* complete, see rd_shape_complete */
    size_t bytes;      /* span of the shape; of a share of RONDO_REDUCE of its box alone */
    struct rd_buffer *
        *buffers; /* referenced; 1 of a fixed slot, `count` of a ring, none if bound */
    uint32_t count, ring_first, ring_stride; /* stride at least 1 */
    uint32_t alias; /* index of the slot it may share bytes with, itself if none */
    uint8_t zeroed; /* of a temporary */
    uint8_t at_end; /* memory number + 1 (src/device/devices.h) where it is to be current at the
                       end of a replay; 0: anywhere */
    uint8_t memory; /* number of the memory that its buffers' bases lie in: 0 of all recorded
                       slots; made by rd_residency_apply */
    uint64_t token_base; /* of a token: where its own address range begins, `bytes` long */
    /* Of a temporary that stands for a part of another slot: where its memory begins, counted in
     * bytes from element (0,0,0) of that slot; subtracted from an instance's address to give the
     * base that tasks see. */
    int64_t origin;
};

struct rd_param {
    uint32_t name;
    uint32_t bytes;
    uint32_t offset; /* in a block of all parameters; aligned to 64 or to the size rounded up to a
                        power of two, whichever is less */
    uint8_t has_initial; /* then params_initial + offset holds it */
};

/* Boxes of an access: boxes[box] is the box rondo_task_view shows (clipped hull); if box_count is 0
 * it is the exact region too, else boxes[box + 1 .. box + 1 + box_count) are, pairwise disjoint or
 * not. */
struct rd_access {
    uint32_t slot;
    uint32_t box, box_count;
    uint8_t mode;     /* RONDO_READ, _WRITE, _READ_WRITE, _COMMUTE, _REDUCE */
    uint8_t type, op; /* of RONDO_REDUCE, and of the first access of an allreduce */
};

/* A condition under which a node runs: everything set holds. */
struct rd_when {
    uint32_t param, flag; /* index + 1; 0: none. The flag's slot is read by an access too */
    uint32_t every, phase;
};

/* What a wait node waits for, or a signal node sets. */
struct rd_sync {
    struct rd_counter_object *counter; /* referenced; NULL: the event in the parameter */
    uint64_t first, step;
    uint32_t event; /* parameter's index */
};

/* What few nodes have. */
struct rd_extra {
    uint32_t when, when_count; /* in whens: all must hold */
    uint32_t sync;             /* index in syncs + 1 of a wait or signal node; 0: none */
    uint32_t team;             /* as recorded; of an expanded recording: the number of ranks */
    uint32_t stop_lag;
    uint8_t flags;   /* RONDO_HOSTED, _SPMD, _DETACHED, _MAY_STOP, _MAY_BLOCK */
    uint32_t kernel; /* index in kernels + 1 of a kernel node; 0: none */
    /* of an expanded recording */
    uint32_t main; /* RD_NODE_RANK: the node of rank 0 */
    uint32_t rank;
};

/* What a kernel node runs. Equal images are one entry of `images`, found by their hash. */
struct rd_image {
    size_t source, bytes; /* in sources; a 0 stands behind its bytes */
    uint64_t hash;
    uint32_t
        next; /* index + 1 of the image before it with the same place in image_table; 0: none */
};
struct rd_kernel_arg {
    uint32_t kind;  /* RONDO_ARG_... */
    uint32_t index; /* of an access of the node, or a parameter's index */
    uint32_t bytes; /* of a value, a parameter, or local memory */
    size_t value;   /* offset in args */
};
struct rd_kernel {
    uint32_t format, image, entry, options; /* image: index; entry, options: offsets in names */
    uint32_t arg, arg_count;                /* in kernel_args */
    uint32_t dimensions;
    uint64_t global[3], local[3]; /* 1 in absent dimensions; local all 0: the driver chooses */
};

struct rd_patch {
    uint32_t param, from, to, bytes;
};

/* A context and who releases it: one reference of the subgraph, one of every exec made from it. */
struct rd_holder {
    rd_atomic64 refs;
    void *context;
    void (*release)(void *context); /* may be NULL */
};

struct rd_node {
    rondo_task_fn *fn;
    uint64_t tag;
    size_t arg;         /* offset in args, a multiple of 16 */
    uint32_t arg_bytes; /* 0: the task gets NULL */
    uint32_t name;
    uint32_t holder; /* index in holders + 1; 0: context NULL */
    uint32_t access, access_count;
    uint32_t param, param_count; /* in param_uses: parameter indices; of a kernel those of its
                                    arguments, in their order */
    uint32_t patch, patch_count;
    uint32_t chunk;   /* index in chunks; 0: the empty region that chunks[0] is */
    uint32_t extra;   /* index in extras + 1; 0: none */
    uint32_t cost_ns; /* 0: not known; saturated */
    int32_t priority;
    uint16_t bound; /* processor index, RD_PROCESSOR_ANY, or RD_ON_DEVICE + a device's */
    uint8_t kind;
    uint8_t everything; /* 1: touches everything (no accesses); 2: ordered with NO_ACCESS nodes too
                           (a call) */
};

/* An edge by hand. A rondo_record_for handle was expanded to its nodes. */
struct rd_hand_edge {
    uint32_t from, to, distance;
};

/* The nodes of one rondo_record_for. */
struct rd_group {
    uint32_t first, count;
};

struct rd_inner_part {
    uint32_t serial, part, inner, outer; /* part: RD_PART_SLOT, RD_PART_PARAM; indices */
};

#define RD_POOL(T)              \
    struct {                    \
        T *item;                \
        size_t count, capacity; \
    }

struct rd_subgraph {
    struct rd_runtime *rt;
    rd_atomic64 refs;
    uint64_t id;
    uint32_t serial; /* of this process; in every handle of its nodes, slots and parameters */
    int edges_explicit;
    uint32_t last_name;        /* offset of the name added last: equal names in a row are one */
    uint32_t holder_cache[64]; /* by context: index + 1 in holders of one without `release` */
    char *name;
    rondo_status error; /* the first that stuck, and its message */
    char error_message[RD_MESSAGE_BYTES];

    RD_POOL(char) names; /* terminated strings; offset 0 is "" */
    RD_POOL(char) args;
    RD_POOL(struct rd_slot) slots;
    RD_POOL(struct rd_param) params;
    RD_POOL(char) params_initial; /* the block of all initial values */
    RD_POOL(struct rd_node) nodes;
    RD_POOL(struct rd_access) accesses;
    RD_POOL(rd_box) boxes;
    RD_POOL(rondo_region) chunks;
    RD_POOL(uint32_t) param_uses;
    RD_POOL(struct rd_patch) patches;
    RD_POOL(struct rd_hand_edge) edges;
    RD_POOL(struct rd_holder *) holders;
    RD_POOL(struct rd_group) groups;
    RD_POOL(struct rd_extra) extras;
    RD_POOL(struct rd_when) whens;
    RD_POOL(struct rd_sync) syncs;
    RD_POOL(struct rd_kernel) kernels;
    RD_POOL(struct rd_kernel_arg) kernel_args;
    RD_POOL(struct rd_image) images;
    RD_POOL(char) sources;
    RD_POOL(uint32_t) image_table; /* by hash: index + 1 of the image added last; a power of two */
    /* Parts of inner subgraphs that were recorded into this one, and what they are here. */
    RD_POOL(struct rd_inner_part) inner;
    uint64_t tokens_end; /* bytes of all tokens so far: where the next one's range begins */
    /* Of an expanded recording: the nodes in the order in which they come in the recording; NULL:
     * by index. */
    uint32_t *sequence;
};

/* Handles of nodes, slots and parameters: {serial:32, kind:2, value:30}; value is the index + 1, a
 * node group's kind its own. */
enum rd_part { RD_PART_NODE, RD_PART_GROUP, RD_PART_SLOT, RD_PART_PARAM };
static inline uint64_t rd_part_id(uint32_t serial, enum rd_part part, size_t index)
{
    return (uint64_t)serial << 32 | (uint64_t)part << 30 | (uint64_t)(index + 1);
}

/* An empty recording with one reference, the caller's, and no handle. Takes over the caller's
 * reference of the runtime, on success only. */
rondo_status rd_subgraph_new(struct rd_runtime *rt, const rondo_subgraph_desc *desc,
                             struct rd_subgraph **subgraph);
/* Its handle, to which the reference goes over. MEMORY, and then it stays the caller's. */
rondo_status rd_subgraph_publish(struct rd_subgraph *g);
/* Both. */
rondo_status rd_subgraph_create(struct rd_runtime *rt, const rondo_subgraph_desc *desc,
                                struct rd_subgraph **subgraph);
/* A counted reference; NULL with the message set and *status told. */
struct rd_subgraph *rd_subgraph_get(rondo_subgraph handle, rondo_status *status);
void rd_subgraph_unref(struct rd_subgraph *g);
static inline const char *rd_subgraph_text(const struct rd_subgraph *g, uint32_t name)
{
    return g->names.item + name;
}

/* The builders. What they refuse they take back entirely; this thread's message says why. None of
 * them sticks its error: see rd_subgraph_stick. */
rondo_status rd_slot_add(struct rd_subgraph *g, const rondo_slot_desc *desc, rondo_slot *slot);
rondo_status rd_param_add(struct rd_subgraph *g, const char *name, size_t bytes,
                          const void *initial, rondo_param *param);
/* RD_NODE_TASK and RD_NODE_LAUNCH. */
rondo_status rd_record_task(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_task_desc *desc, rondo_node *node);
rondo_status rd_record_for(struct rd_subgraph *g, const rondo_task_desc *task,
                           const rondo_for_desc *desc, rondo_node *group);
rondo_status rd_record_call(struct rd_subgraph *g, const char *name, void (*fn)(void *context),
                            void *context, rondo_node *node);
rondo_status rd_record_move(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_move_desc *desc, rondo_node *node);
/* sync.c: RD_NODE_WAIT and RD_NODE_SIGNAL. */
rondo_status rd_record_sync(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_sync_desc *desc, rondo_node *node);
/* kernel.c */
rondo_status rd_record_kernel(struct rd_subgraph *g, const rondo_kernel_desc *desc,
                              rondo_node *node);
/* inner.c: all that `inner` holds, recorded into g. */
rondo_status rd_record_subgraph(struct rd_subgraph *g, const struct rd_subgraph *inner,
                                const rondo_inner_desc *desc, rondo_node *node);
rondo_status rd_record_edge(struct rd_subgraph *g, rondo_node from, rondo_node to,
                            uint32_t distance);
/* The first error that stuck, its message made this thread's; OK: none did. */
rondo_status rd_subgraph_error(const struct rd_subgraph *g);
/* Keeps the first error, with this thread's message; returns `status`. */
rondo_status rd_subgraph_stick(struct rd_subgraph *g, rondo_status status);

/* The index behind a handle; RONDO_ERR_INVALID with a message naming `what` ("node 'relax':
 * after[2]") for {0} or a handle of another subgraph or kind. */
rondo_status rd_subgraph_slot_of(const struct rd_subgraph *g, rondo_slot handle, const char *what,
                                 uint32_t *index);
/* The nodes [first, first + count) a handle stands for. */
rondo_status rd_subgraph_nodes_of(const struct rd_subgraph *g, rondo_node handle, const char *what,
                                  uint32_t *first, uint32_t *count);

void rd_holder_unref(struct rd_allocator *a, struct rd_holder *h); /* may call release */

/* expand.c: the recording with all that instantiation adds to it: ranks of teams (of at most
 * `processors`, bound to them), zeroing of temporaries, private shares of RONDO_REDUCE and the
 * nodes that combine them. Added nodes come after the recorded ones, which keep their indices.
 * *expanded: a private copy of one reference, or `g` itself with one more reference where there is
 * nothing to add. Pure. */
rondo_status rd_subgraph_expand(struct rd_subgraph *g, uint32_t processors,
                                struct rd_subgraph **expanded);

static inline const struct rd_extra *rd_node_extra(const struct rd_subgraph *g, uint32_t node)
{
    static const struct rd_extra none;
    uint32_t i = g->nodes.item[node].extra;
    return i ? &g->extras.item[i - 1] : &none;
}

/* check.c: everything that can be wrong with a whole recording. INVALID, the message naming nodes,
 * slots and values; cycles are printed as the path of names. Called by rd_subgraph_analyse. */
rondo_status rd_subgraph_check(const struct rd_subgraph *g, const struct rd_graph *graph);

/* depend.c: the graph of rd_subgraph_analyse; with `check` 0 also of a recording that is refused.
 */
rondo_status rd_depend_graph(const struct rd_subgraph *g, int carried, int check,
                             struct rd_graph *graph);
/* depend.c: edges by hand and edges from accesses. `carried`: also those from one replay to later
 * ones (for pipelined order); else edges by hand with a distance are left out as well, and the
 * distance is 0. Near-linear in nodes and accesses. INVALID: what check.c refuses; with `carried`,
 * a distance over RD_DISTANCE_MAX, naming the slot or the nodes. */
rondo_status rd_subgraph_analyse(const struct rd_subgraph *g, int carried, struct rd_graph *graph);

/* dot.c: the graph as `analyse` finds it, refused or not, in Graphviz's DOT. */
rondo_status rd_subgraph_dot(const struct rd_subgraph *g,
                             void (*write)(void *context, const char *text), void *context);

/* json_write.c: the recording as JSON. */
rondo_status rd_subgraph_write_json(const struct rd_subgraph *g,
                                    void (*write)(void *context, const char *text), void *context);

/* json_read.c: a recording of what rd_subgraph_write_json wrote, or anybody: as rd_subgraph_create.
 */
rondo_status rd_subgraph_read_json(struct rd_runtime *rt, const char *text, size_t bytes,
                                   const rondo_read_options *options,
                                   struct rd_subgraph **subgraph);

/* visit.c: the same graph, told node by node and edge by edge. */
rondo_status rd_subgraph_visit(struct rd_subgraph *g,
                               void (*node)(void *context, uint32_t number,
                                            const rondo_recorded_node *node),
                               void (*edge)(void *context, const rondo_recorded_edge *edge),
                               void *context);
void rd_subgraph_visit_places(const struct rd_subgraph *g,
                              void (*slot)(void *context, uint32_t number,
                                           const rondo_recorded_slot *slot),
                              void (*param)(void *context, uint32_t number,
                                            const rondo_recorded_param *param),
                              void *context);
/* How many of a node's accesses are its own: those of its conditions' flags come behind them. */
uint32_t rd_node_own_accesses(const struct rd_subgraph *g, uint32_t node);
/* Whether a task has no accesses and does not touch everything, where that is to be said. */
int rd_node_no_access(const struct rd_subgraph *g, uint32_t node);
static inline rondo_processor rd_node_on(const struct rd_node *n)
{
    if (rd_bound_is_device(n->bound))
        return RONDO_GPU(n->bound - RD_ON_DEVICE);
    return n->bound == RD_PROCESSOR_ANY ? (rondo_processor)RONDO_ANY_CPU : RONDO_CPU(n->bound);
}

/* move.c: the tasks behind copy and fill nodes; `arg` is a struct rd_move. */
struct rd_move {
    size_t elem_bytes;
    int64_t count[3];
    size_t from, to; /* byte offsets of the boxes' first elements */
    size_t from_pitch[2], to_pitch[2];
    uint32_t count_values; /* int64_t in the node's parameter 0; 0: it has none */
    uint32_t value_bytes;  /* fill: the value follows this struct */
};
/* Whether the first `values` counts, of a node's parameter, are within `most`; else `why`. */
int rd_move_counts_fit(const int64_t *count, uint32_t values, const int64_t most[3], char *why,
                       size_t why_bytes);
int rd_move_copy(rondo_task *self, const void *arg);
int rd_move_fill(rondo_task *self, const void *arg);
int rd_move_none(rondo_task *self, const void *arg); /* checks the count alone */
/* The task behind rondo_record_call; `arg` is a struct rd_call. */
struct rd_call {
    void (*fn)(void *context);
    void *context;
};
int rd_call_run(rondo_task *self, const void *arg);

#endif
