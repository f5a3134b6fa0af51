/* SPDX-License-Identifier: BSD-3-Clause */
/* Instantiating a subgraph, replaying it, and what became of a replay. */
#ifndef RONDO_EXEC_H
#define RONDO_EXEC_H

#include <rondo/subgraph.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RONDO_AUTO = 0, RONDO_COMPILED = 1, RONDO_INTERPRETED = 2 };
enum { RONDO_SERIAL = 0, RONDO_PIPELINED = 1, RONDO_CONCURRENT = 2 };
enum { RONDO_ON_FAILURE_CANCEL = 0, RONDO_ON_FAILURE_CONTINUE = 1 };

typedef struct rondo_instantiate_options {
    /* RONDO_AUTO: compiled where possible, else interpreted, and rondo_exec_describe says why; the
     * environment's RONDO_MODE overrides it. RONDO_COMPILED: an error naming what cannot be
     * compiled. */
    uint32_t mode;
    /* RONDO_SERIAL: replay i+1 begins when replay i has ended. RONDO_PIPELINED: only carried edges
     * order them. RONDO_CONCURRENT: replay r runs on track r % tracks and tracks may overtake each
     * other; every slot that is written must be bound per replay. */
    uint32_t order;
    uint32_t window; /* replays in flight, per track; 0: 4; at most 1024 */
    uint32_t tracks; /* RONDO_CONCURRENT only; 0: 4; at most 64 */
    /* RONDO_ON_FAILURE_CANCEL: after a failure in replay r every later-numbered replay is cancelled
     * until rondo_exec_reset. RONDO_ON_FAILURE_CONTINUE: later replays run. */
    uint32_t on_failure;
} rondo_instantiate_options;

/* Makes an exec: analyses the recording, places its nodes, lowers it to lanes. `options` may be
 * NULL. The exec owns copies of all it needs; the subgraph may be recorded on, or destroyed.
 * Returns the error that stuck to the subgraph, or INVALID for a recording that cannot be right
 * (the message names nodes, slots and values). Blocks only for its own computing. Ended by
 * rondo_exec_destroy. */
RONDO_API rondo_status rondo_instantiate_sized(rondo_subgraph subgraph,
                                               const rondo_instantiate_options *options,
                                               size_t options_bytes, rondo_exec *exec);

/* Never blocks: replays in flight finish, and then the cleaner frees what the exec held. */
RONDO_API rondo_status rondo_exec_destroy(rondo_exec exec);

/* ---- replaying */

enum { RONDO_NO_WAIT = 1 };

/* A parameter's value. Replay k of a call takes the bytes at value + k * stride_bytes. Frozen. */
typedef struct rondo_value {
    rondo_param param;
    const void *value;
    size_t stride_bytes;
} rondo_value;

/* What fills a slot during this call's replays. Frozen. */
typedef struct rondo_binding {
    rondo_slot slot;
    rondo_buffer buffer;
} rondo_binding;

typedef struct rondo_replay_args {
    const rondo_value *values;
    uint32_t value_count, binding_count;
    const rondo_binding *bindings; /* every slot without buffer and ring, for this call only */
    const rondo_event *after;      /* the first replay begins when these are complete */
    uint32_t after_count;
    uint32_t flags; /* RONDO_NO_WAIT: RONDO_ERR_AGAIN instead of waiting for room in the window */
    uint64_t count; /* replays, one after the other; 0: 1 */
} rondo_replay_args;

/* Submits `count` replays. `args` and `event` may be NULL. Everything is copied before the call
 * returns. Waits for room in the window (running the exec's own cpu 0 work meanwhile) unless
 * RONDO_NO_WAIT; inside a task it never waits and returns AGAIN. Any thread; several threads may
 * replay one exec, each replay runs exactly once. Allocates nothing in the steady state.
 * `event` completes when the last replay of the call has ended, failed or not.
 * INVALID: a value, binding or event that does not fit (named); STALE: the exec or a buffer is
 * gone. */
RONDO_API rondo_status rondo_replay_sized(rondo_exec exec, const rondo_replay_args *args,
                                          size_t args_bytes, rondo_event *event);

/* What became of a replay. Texts are cut to fit and always terminated. */
typedef struct rondo_result {
    rondo_status status; /* OK, FAILED, CANCELLED */
    uint32_t zero32;
    uint64_t tag;         /* of the node that failed */
    uint64_t replay;      /* the replay that failed, or the event's last one */
    uint64_t replays_run; /* replays of the exec executed (not cancelled) up to and with that one */
    char node[48]; /* the node that failed; of several in one replay the one recorded first */
    char message[208];
} rondo_result;

/* One call for submit and wait, the caller running the exec's cpu 0 work itself. Returns the worst
 * that became of its replays and fills `result` (may be NULL) with the first failure. AGAIN: not
 * complete after `timeout_ns` (0: do not wait, negative: for ever); the replays go on. STALE: the
 * exec was destroyed, before the submit or before the result was read (the message says which).
 * WOULD_BLOCK inside a task: nothing was submitted. */
RONDO_API rondo_status rondo_replay_and_wait_sized(rondo_exec exec, const rondo_replay_args *args,
                                                   size_t args_bytes, int64_t timeout_ns,
                                                   rondo_result *result, size_t result_bytes);

/* Gives a parameter the value that later replays see which give none themselves. */
RONDO_API rondo_status rondo_exec_set_param(rondo_exec exec, rondo_param param, const void *value);

/* RONDO_COMPILED or RONDO_INTERPRETED for replays submitted from now on; RONDO_AUTO: as
 * instantiated. Nothing is rebuilt. INVALID: compiled asked of an exec that could not be compiled.
 */
RONDO_API rondo_status rondo_exec_set_mode(rondo_exec exec, uint32_t mode);

/* Waits for every replay submitted before this call. Returns the status of the first failure since
 * the last reset, RONDO_OK if there was none, and then fills `result` (may be NULL) with it. */
RONDO_API rondo_status rondo_exec_wait_sized(rondo_exec exec, rondo_result *result,
                                             size_t result_bytes);

/* Replays submitted from now on run again after a failure. Never blocks. */
RONDO_API rondo_status rondo_exec_reset(rondo_exec exec);

/* ---- events */

/* RONDO_OK once complete, failed or not; AGAIN when `timeout_ns` is over (0: query, negative: for
 * ever); WOULD_BLOCK inside a task. A waiting thread may run the exec's cpu 0 work. */
RONDO_API rondo_status rondo_event_wait(rondo_event event, int64_t timeout_ns);

/* What became of the event's last replay. AGAIN: not complete. STALE: no longer kept (an exec keeps
 * its last 64 failures and 256 successes), or the exec is gone. */
RONDO_API rondo_status rondo_event_result_sized(rondo_event event, rondo_result *result,
                                                size_t result_bytes);

/* ---- looking inside */

typedef struct rondo_node_info {
    rondo_processor processor;
    uint32_t lane,
        position;          /* lane and place in it; of a rondo_record_for handle, its first node */
    uint32_t waits;        /* how many waits the compiled node performs */
    uint32_t predecessors; /* how many edges of its own replay end in it */
    int32_t interpreted;   /* 1: the exec interprets it at present */
    char why[96];          /* why, if it could not be compiled */
} rondo_node_info;

RONDO_API rondo_status rondo_exec_node_info_sized(rondo_exec exec, rondo_node node,
                                                  rondo_node_info *info, size_t info_bytes);

/* The exec's memory and shape in numbers. */
typedef struct rondo_exec_counts {
    uint64_t nodes, edges, carried_edges,
        waits; /* edges recorded or inferred; waits kept of them */
    uint32_t lanes, processors, carried_distance, window, tracks, compiled;
    uint64_t plan_bytes;     /* ops, waits and predecessors, one track */
    uint64_t argument_bytes; /* argument bytes and accesses, all tracks */
    uint64_t makespan_ns;    /* of the schedule the placement predicts */
    uint64_t
        serial_boundaries; /* replays so far that had to wait for the one before, in any order */
} rondo_exec_counts;

RONDO_API rondo_status rondo_exec_count_sized(rondo_exec exec, rondo_exec_counts *counts,
                                              size_t counts_bytes);

/* Writes a page about the exec, line by line: the mode and its reason, order, lanes, ops, waits
 * kept of edges recorded, costs used, bytes, serial boundaries met. */
RONDO_API rondo_status rondo_exec_describe(rondo_exec exec,
                                           void (*write)(void *context, const char *text),
                                           void *context);

/* ---- inline */

static inline rondo_status rondo_instantiate(rondo_subgraph subgraph,
                                             const rondo_instantiate_options *options,
                                             rondo_exec *exec)
{
    return rondo_instantiate_sized(subgraph, options, sizeof(rondo_instantiate_options), exec);
}
static inline rondo_status rondo_replay(rondo_exec exec, const rondo_replay_args *args,
                                        rondo_event *event)
{
    return rondo_replay_sized(exec, args, sizeof(rondo_replay_args), event);
}
static inline rondo_status rondo_replay_and_wait(rondo_exec exec, const rondo_replay_args *args,
                                                 int64_t timeout_ns, rondo_result *result)
{
    return rondo_replay_and_wait_sized(exec, args, sizeof(rondo_replay_args), timeout_ns, result,
                                       sizeof(rondo_result));
}
static inline rondo_status rondo_exec_wait(rondo_exec exec, rondo_result *result)
{
    return rondo_exec_wait_sized(exec, result, sizeof(rondo_result));
}
static inline rondo_status rondo_event_result(rondo_event event, rondo_result *result)
{
    return rondo_event_result_sized(event, result, sizeof *result);
}
static inline rondo_status rondo_exec_node_info(rondo_exec exec, rondo_node node,
                                                rondo_node_info *info)
{
    return rondo_exec_node_info_sized(exec, node, info, sizeof *info);
}
static inline rondo_status rondo_exec_count(rondo_exec exec, rondo_exec_counts *counts)
{
    return rondo_exec_count_sized(exec, counts, sizeof *counts);
}

#ifdef __cplusplus
}
#endif
#endif
