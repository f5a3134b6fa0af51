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
    /* RONDO_STATIC: lanes of ops, fixed at instantiation. RONDO_DATAFLOW: nodes go to whichever
     * processor is free as they become ready. RONDO_SCHEDULE_AUTO: static; where a choice is open
     * (more than one lane pays by the costs given), live replays are timed with one lane, with
     * several, with dataflow and interpreted, and the best is kept; timed again when the mean
     * drifts by 1.5. rondo_exec_describe says what was chosen, why, and the figures. Replays of one
     * call are not split: the choice is made between calls. */
    uint32_t schedule;
    /* The first `profile` replays are interpreted and timed node by node; then the nodes are placed
     * by the mean costs measured. 0: placed by cost_ns at once. */
    uint32_t profile;
    uint32_t flags; /* RONDO_TIMED: all replays are */
    /* Which of the runtime's processors to use, as CPU numbers ("2-5,8"); RONDO_CPU(i) then is the
     * i-th of these. NULL: all. */
    const char *cpus;
    int32_t priority; /* which exec's work a worker prefers: greater first */
} rondo_instantiate_options;

enum { RONDO_SCHEDULE_AUTO = 0, RONDO_STATIC = 1, RONDO_DATAFLOW = 2 };

/* Makes an exec: analyses the recording, places its nodes, lowers it to lanes. `options` may be
 * NULL. The exec owns copies of all it needs; the subgraph may be recorded on, or destroyed.
 * Returns the error that stuck to the subgraph, or INVALID for a recording that cannot be right
 * (the message names nodes, slots and values). Blocks only for its own computing. Ended by
 * rondo_exec_destroy. */
RONDO_API rondo_status rondo_instantiate_sized(rondo_subgraph subgraph,
                                               const rondo_instantiate_options *options,
                                               size_t options_bytes, rondo_exec *exec);

/* Makes an exec of each of several subgraphs over the same buffers, to be replayed in any order:
 * one numbering of replays, of ring positions and of failures for all of them, and a replay of one
 * begins when the last replay of another has ended (`order` governs replays of the same one in a
 * row). Execs that are not of one group are ordered by `after` events only. The schedule is static.
 * At most 16. `execs` has room for `count`; all or none are made. Each is ended by
 * rondo_exec_destroy. INVALID: RONDO_CONCURRENT. */
RONDO_API rondo_status rondo_instantiate_group_sized(const rondo_subgraph *subgraphs,
                                                     uint32_t count,
                                                     const rondo_instantiate_options *options,
                                                     size_t options_bytes, rondo_exec *execs);

/* Never blocks: replays in flight finish, and then the cleaner frees what the exec held. */
RONDO_API rondo_status rondo_exec_destroy(rondo_exec exec);

/* ---- replaying */

enum {
    RONDO_NO_WAIT = 1,
    RONDO_TIMED = 2 /* notes when the replay and each of its nodes begin and end */
};

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
    /* CLOCK_MONOTONIC; 0: none. The first replay does not begin before `not_before_ns`. Past
     * `deadline_ns` nodes that have not begun are skipped, each replay with RONDO_ERR_DEADLINE. */
    int64_t not_before_ns, deadline_ns;
    /* Called once when the last replay of the call has ended, with its event, by the thread that
     * ended it. May not block, nor call Rondo but for rondo_counter_add and _raise, and
     * rondo_event_wait with time-out 0. */
    void (*done)(void *context, rondo_event event);
    void *context;
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
    rondo_status status; /* OK, FAILED, CANCELLED, DEADLINE, DEVICE_LOST */
    uint32_t stopped; /* 1: a RONDO_MAY_STOP node stopped the call; replays after it did not run */
    uint64_t tag;     /* of the node that failed */
    uint64_t replay;  /* the replay that failed, or the event's last one */
    uint64_t replays_run; /* replays of the exec executed (not cancelled) up to and with that one */
    char node[48]; /* the node that failed; of several in one replay the one recorded first */
    char message[208];
    int64_t begin_ns,
        end_ns; /* CLOCK_MONOTONIC, of a replay that was RONDO_TIMED or traced; else 0 */
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

/* Replays submitted from now on run what `subgraph` records: nodes, edges, accesses and slots as
 * before, but functions, arguments, contexts, names, buffers, costs and initial values may differ;
 * of kernels image, entry, options, work items, and the values of arguments and their sizes.
 * Replays already submitted keep what they had; the boundary is serial. INVALID naming node, field
 * and values when the structure differs: the exec goes on as it is. The recording's handles of
 * nodes, slots and parameters name the exec's from now on (those of the old one too, by position).
 */
RONDO_API rondo_status rondo_exec_update(rondo_exec exec, rondo_subgraph subgraph);
/* The same for one task: its function, argument, context and cost. Accesses, edges and flags must
 * be those recorded (or none given). Waits for the replays in flight; WOULD_BLOCK inside a task. */
RONDO_API rondo_status rondo_exec_update_task_sized(rondo_exec exec, rondo_node node,
                                                    const rondo_task_desc *desc, size_t desc_bytes);
/* Switches a node off (0) or on for replays submitted from now on. What it would order is still
 * ordered. The boundary is serial. Waits for the replays in flight; WOULD_BLOCK inside a task.
 * INVALID: the exec has nodes on devices, and the node to be switched off a RONDO_WRITE access: the
 * schedule of moves relies on what it overwrites (a `when` is known to it). */
RONDO_API rondo_status rondo_exec_enable(rondo_exec exec, rondo_node node, int enabled);
/* Every lane touches, on its own processor, the pages that its nodes write, so that memory nobody
 * has touched yet comes from that processor's node. Contents stay. AGAIN: replays are in flight.
 * Blocks until done; WOULD_BLOCK inside a task. */
RONDO_API rondo_status rondo_exec_touch(rondo_exec exec);

/* ---- events */

/* The event that one node of a replay has ended. `replay` is the event of a call of one replay (of
 * a call with a count: its last replay). Of a handle that stands for several nodes: all of them.
 * {0, 0} when it has ended already. Completes promptly in any mode. STALE: the exec is gone. */
RONDO_API rondo_status rondo_event_at(rondo_event replay, rondo_node node, rondo_event *event);

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
    /* Of executions that were RONDO_TIMED, traced or profiled. */
    uint64_t runs;
    double min_ns, mean_ns, max_ns;
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
    /* Nodes on devices, recorded or added, and the segments that they are handed over in. */
    uint64_t device_nodes, segments;
    uint64_t copies, moved_bytes; /* between memories, added to the recording: per replay */
    uint64_t driver_calls;        /* so far, of the backends of its devices, whoever made them */
} rondo_exec_counts;

RONDO_API rondo_status rondo_exec_count_sized(rondo_exec exec, rondo_exec_counts *counts,
                                              size_t counts_bytes);

/* Writes a page about the exec, line by line: the mode and its reason, order, lanes, ops, waits
 * kept of edges recorded, costs used, bytes, serial boundaries met. */
RONDO_API rondo_status rondo_exec_describe(rondo_exec exec,
                                           void (*write)(void *context, const char *text),
                                           void *context);

/* What a subgraph would take on a machine with so many processors, played in time by the placement
 * that instantiation uses. Each device that nodes are on is a processor more, which runs them one
 * after the other; that bytes move to it and back is not counted. */
typedef struct rondo_simulate_options {
    uint32_t processors; /* 1 to 1,024 */
    int64_t handover_ns; /* of a dependence between processors; 0: as instantiation uses; negative:
                            free */
    int64_t unknown_cost_ns; /* of nodes without cost_ns; 0: as instantiation uses */
    /* Measured costs: of the nodes of this exec, made from the same recording; {0}: cost_ns. */
    rondo_exec exec;
} rondo_simulate_options;
typedef struct rondo_simulation {
    uint64_t makespan_ns;      /* of one replay */
    uint64_t critical_path_ns; /* the longest path, hand-overs free */
    uint64_t work_ns;          /* the sum of all costs */
    uint64_t handovers;        /* edges between processors */
    uint32_t processors;       /* that got work, devices among them */
    uint32_t lanes;
} rondo_simulation;
/* Computes only; nothing is run. INVALID as rondo_instantiate. */
RONDO_API rondo_status rondo_simulate_sized(rondo_subgraph subgraph,
                                            const rondo_simulate_options *options,
                                            size_t options_bytes, rondo_simulation *simulation,
                                            size_t simulation_bytes);

/* ---- inline */

static inline rondo_status rondo_instantiate_group(const rondo_subgraph *subgraphs, uint32_t count,
                                                   const rondo_instantiate_options *options,
                                                   rondo_exec *execs)
{
    return rondo_instantiate_group_sized(subgraphs, count, options,
                                         sizeof(rondo_instantiate_options), execs);
}
static inline rondo_status rondo_exec_update_task(rondo_exec exec, rondo_node node,
                                                  const rondo_task_desc *desc)
{
    return rondo_exec_update_task_sized(exec, node, desc, sizeof *desc);
}
static inline rondo_status rondo_simulate(rondo_subgraph subgraph,
                                          const rondo_simulate_options *options,
                                          rondo_simulation *simulation)
{
    return rondo_simulate_sized(subgraph, options, sizeof *options, simulation, sizeof *simulation);
}

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
