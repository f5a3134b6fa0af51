/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings as text: a recording read back from JSON, and a look at what one holds. */
#ifndef RONDO_READ_H
#define RONDO_READ_H

#include <rondo/subgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the recording as JSON (docs/graph-file.md), piece by piece, on this thread: slots,
 * parameters, nodes of every kind with all that was said of them, edges by hand. What a file cannot
 * hold is left out: functions, contexts, memory; counters become numbers. Reading it and writing
 * that again gives the same bytes. MEMORY, STALE. */
RONDO_API rondo_status rondo_subgraph_write_json(rondo_subgraph subgraph,
                                                 void (*write)(void *context, const char *text),
                                                 void *context);

/* What a file cannot hold is asked for, on the reading thread, in the order of the file. Each
 * callback may be NULL, and returns RONDO_OK or what reading then fails with. */
typedef struct rondo_read_options {
    /* Once per task, launch and rondo_record_call: `desc` holds all that the file says of it (its
     * argument bytes too; of a launch `on` is RONDO_GPU(i)) but for its chunk, the exact boxes of
     * halos and conditions beyond the first, which the node gets all the same (the boxes unless
     * `accesses` is replaced). Set fn, and what else should be otherwise. `node`: its number,
     * counted over all nodes of the file from 0. Of a call only `context` and, in `call`, the
     * function are taken. NULL, or fn left NULL: a function that does nothing. A `release` is
     * called once, also where reading fails after the callback has returned RONDO_OK. */
    rondo_status (*task)(void *context, uint32_t node, rondo_task_desc *desc,
                         void (**call)(void *context));
    /* Once per buffer of the file, by its name and number: slots and rings refer to buffers, and
     * several may to one. What is given must be as large as the slots are; their shapes are the
     * file's. NULL, or *buffer left {0}: memory of the runtime's, filled with zeros, which lives as
     * long as the subgraph and its execs. Buffers that are parts of one memory share their bytes
     * among those that are not given. */
    rondo_status (*buffer)(void *context, const char *name, uint32_t number,
                           const rondo_shape *shape, rondo_buffer *buffer);
    /* Once per counter number. NULL, or *counter left {0}: reading is refused where a node needs
     * one. */
    rondo_status (*counter)(void *context, uint32_t number, rondo_counter *counter);
    void *context;
    /* Reading is refused beyond: bytes of parameters, and of memory for buffers that `buffer` does
     * not give (0: 1 GiB); nodes, and as many of anything else that there is a number of: edges by
     * hand, slots, accesses, ... (0: 4,000,000). */
    uint64_t most_buffer_bytes, most_nodes;
} rondo_read_options;

/* Reads `bytes` bytes of JSON (UTF-8; no terminator needed), at most 1 GiB, and records what they
 * say. Beside the recording itself memory is bounded by 512 MiB, of which one node of ordinary size
 * takes some KiB; time by a constant times `bytes`. INVALID: not JSON, not a recording, or one that
 * the builders refuse; the message says the line, the node, and why. MEMORY. On failure nothing is
 * left. `options` may be NULL. */
RONDO_API rondo_status rondo_subgraph_read_json_sized(rondo_runtime runtime, const char *text,
                                                      size_t bytes,
                                                      const rondo_read_options *options,
                                                      size_t options_bytes,
                                                      rondo_subgraph *subgraph);

/* ---- what a recording holds. Nodes are numbered from 0 in the order of recording; a
 * rondo_record_for counts as many nodes as it has chunks. */

enum {
    RONDO_NODE_TASK = 0,
    RONDO_NODE_CALL = 1,
    RONDO_NODE_COPY = 2,
    RONDO_NODE_FILL = 3,
    RONDO_NODE_ALLREDUCE = 4,
    RONDO_NODE_WAIT = 5,
    RONDO_NODE_SIGNAL = 6,
    RONDO_NODE_KERNEL = 7,
    RONDO_NODE_LAUNCH = 8
};

typedef struct rondo_recorded_node {
    rondo_node node;
    const char *name; /* for the time of the callback */
    uint64_t tag;
    double cost_ns;       /* 0: not known */
    uint32_t kind;        /* RONDO_NODE_TASK... */
    uint32_t flags;       /* RONDO_HOSTED... */
    uint32_t conditional; /* 1: it has a `when` */
    rondo_processor on;
} rondo_recorded_node;

typedef struct rondo_recorded_edge {
    uint32_t from, to, distance; /* numbers of nodes; replays later */
    uint32_t by_hand;            /* 1: given by hand; 0: inferred from accesses */
    const char *slot; /* of an inferred edge: the slot; NULL: a node that touches everything */
} rondo_recorded_edge;

/* Calls `node` for each node, then `edge` for each edge that instantiation would see under
 * RONDO_PIPELINED (with distance 0 only: also under serial order), by `to`. Either may be NULL.
 * Also of a recording that instantiation refuses. On this thread. MEMORY, STALE, INVALID. */
RONDO_API rondo_status
rondo_subgraph_visit(rondo_subgraph subgraph,
                     void (*node)(void *context, uint32_t number, const rondo_recorded_node *node),
                     void (*edge)(void *context, const rondo_recorded_edge *edge), void *context);

/* ---- what a replay may be given: slots and parameters, numbered from 0 in the order of recording.
 */

enum {
    RONDO_SLOT_FIXED = 0,
    RONDO_SLOT_RING = 1,
    RONDO_SLOT_BOUND = 2, /* a replay has to bind it */
    RONDO_SLOT_TEMPORARY = 3,
    RONDO_SLOT_TOKEN = 4
};

typedef struct rondo_recorded_slot {
    rondo_slot slot;
    const char *name;  /* for the time of the callback */
    rondo_shape shape; /* absent extents are 1, pitches filled in; of a token elem_bytes 0 */
    uint32_t kind;     /* RONDO_SLOT_FIXED... */
    uint32_t buffers;  /* of a ring: how many */
} rondo_recorded_slot;

typedef struct rondo_recorded_param {
    rondo_param param;
    const char *name; /* for the time of the callback */
    uint32_t bytes;
    uint32_t has_initial; /* 0: a replay has to give it, or rondo_exec_set_param once */
} rondo_recorded_param;

/* Calls `slot` for each slot, then `param` for each parameter. Either may be NULL. On this thread.
 * STALE. */
RONDO_API rondo_status rondo_subgraph_visit_places(rondo_subgraph subgraph,
                                                   void (*slot)(void *context, uint32_t number,
                                                                const rondo_recorded_slot *slot),
                                                   void (*param)(void *context, uint32_t number,
                                                                 const rondo_recorded_param *param),
                                                   void *context);

static inline rondo_status rondo_subgraph_read_json(rondo_runtime runtime, const char *text,
                                                    size_t bytes, const rondo_read_options *options,
                                                    rondo_subgraph *subgraph)
{
    return rondo_subgraph_read_json_sized(runtime, text, bytes, options, sizeof(rondo_read_options),
                                          subgraph);
}

#ifdef __cplusplus
}
#endif
#endif
