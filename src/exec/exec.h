/* SPDX-License-Identifier: BSD-3-Clause */
/* An exec: a subgraph's program, slots and parameters, and the cores that can run it. Its tickets
 * are those of its series, which several execs of one group share. A ticket's frame is filled by
 * whoever took it (or, for the later replays of a call with a count, by whoever ended the replay
 * that used the frame before) and published by its own seq. */
#ifndef RD_EXEC_EXEC_H
#define RD_EXEC_EXEC_H

#include "src/base/rcu.h"
#include "src/cleaner/cleaner.h"
#include "src/exec/check.h"
#include "src/exec/core.h"
#include "src/exec/kernel_forms.h"
#include "src/exec/parts.h"
#include "src/exec/stay.h"
#include "src/frame/failure.h"
#include "src/frame/frame.h"
#include "src/frame/program.h"
#include "src/frame/stats.h"
#include "subgraph/subgraph.h"

#include <rondo/exec.h>

enum { RD_GATES_MAX = 64, RD_WINDOW_MAX = 1024, RD_TRACKS_MAX = 64 };

/* A parameter of the subgraph, as replays see it. */
struct rd_exec_param {
    uint32_t name, offset, bytes; /* name: offset in the program's names */
};

/* A slot, as replays see it. */
struct rd_exec_slot {
    uint32_t name;
    uint8_t kind;
    uint8_t memory; /* whose its buffers' addresses are, as in struct rd_slot */
    uint32_t alias, count, ring_first, ring_stride;
    size_t bytes;
    int64_t origin;             /* of a temporary, as in struct rd_slot */
    struct rd_buffer **buffers; /* referenced */
};

enum { RD_NO_TASK = 128 };
enum { RD_HELPERS_MOST = 256 }; /* of an exec: a thread each */
enum { RD_GIVEN_INITIALLY = 1, RD_GIVEN_SET = 2 };

/* The values that replays see which give none: never changed, replaced as a whole. */
struct rd_sticky {
    struct rd_garbage garbage; /* first */
    struct rd_allocator *alloc;
    uint32_t missing; /* parameters without a value */
    uint8_t *given;   /* by parameter, RD_GIVEN_...; behind the block */
    char *block;      /* aligned to 64 */
    size_t bytes;     /* of the whole allocation */
};

struct rd_exec_devices;
struct rd_tuner;
struct rd_worker;

/* What making another core takes: kept only where one may be made. */
struct rd_recipe {
    struct rd_graph graph;
    uint32_t *cost;
    int32_t *priority;
    uint16_t *bound;
    uint8_t *external; /* NULL: none */
    uint8_t *alone;    /* 1: not to run in two replays at once; NULL: none */
};

struct rd_exec {
    struct rd_tenant tenant; /* first */
    struct rd_runtime *rt;
    struct rd_series *series;
    /* Replays submitted from now on run on this core, of those in `cores`. */
    rd_atomic(struct rd_core *) core;
    struct rd_core *chosen; /* of compiled replays; under `lock` */
    struct rd_core *cores;  /* under `lock` */
    struct rd_program program;
    uint64_t id;
    uint32_t serial;            /* of the subgraph: handles of its parts begin with it */
    struct rd_exec_parts parts; /* that other subgraphs' handles name */
    uint32_t order, mode, schedule, window, tracks;
    uint32_t nodes;      /* of the recording; the program has more when it was expanded */
    uint32_t processors; /* that it may use: processor[0 .. processors) of the runtime's */
    uint32_t *processor;
    uint32_t helpers; /* workers of its own, for blocking tasks: processors from x->processors on */
    struct rd_worker *helper;
    uint32_t helpers_started;
    struct rd_exec_devices *devices; /* src/exec/device.h; NULL: no node is on one */
    uint32_t device_processors;      /* of the plan, behind the helpers: driven as processor 0 is */
    int stepped;                     /* RONDO_DEVICE_SYNC */
    int static_for_devices;          /* RONDO_SCHEDULE_AUTO was asked for, and not done */
    int32_t priority;
    int compiled;      /* could be compiled */
    rd_atomic32 plain; /* no parameters, every slot fixed: frames hold nothing of their own */
    int indexed;       /* its replays have an index */
    int stops;         /* has nodes that may stop */
    rd_atomic32 timed; /* every replay is, at present */
    uint32_t plain_later, timed_later; /* once the nodes were placed by a profile */
    int serial_boundaries;             /* every boundary is serial, whatever the order */
    char why[160];                     /* mode and reason */
    struct rd_exec_slot *slot;
    struct rd_exec_param *param;
    uint32_t slots, params, bound_slots, ring_slots, temporary_slots;
    char **temporary;      /* by slot, of serial orders: the instance */
    size_t params_bytes;   /* of a block of parameters, a multiple of 64 */
    uint64_t *fixed_range; /* begin and end of each slot's buffers, slot after slot */
    char *args;            /* argument bytes in op order, shared by the tracks */
    size_t args_bytes;
    char *work; /* arguments of nodes that are more than a plain function, once per track */
    size_t work_bytes;
    /* By node: rank 0's of its team, and of that one the number of ranks. NULL: no team has more
     * than one. */
    uint32_t *team_of, *ranks;
    struct rd_counter_object **counters; /* referenced; of wait and signal nodes, or NULL */
    size_t counter_count;
    struct rd_holder **holder;
    size_t holder_count;
    struct rd_group *groups; /* of rondo_record_for handles */
    size_t group_count, slot_room, range_count;
    uint32_t handover_ns, unknown_cost_ns; /* costs the placement used */
    struct rd_recipe recipe;
    struct rd_tuner *tuner;  /* chooses the core by timing replays; NULL: nothing to choose */
    pthread_mutex_t placing; /* of placing anew */
    pthread_mutex_t lock;    /* set_param, set_mode, reset, cores: never taken by a replay */
    rd_atomic(struct rd_sticky *) sticky;
    struct rd_stats stats;
    struct rd_exec_check check;
    rd_atomic32 profile;     /* replays to be timed before the nodes are placed anew; 0 then */
    rd_atomic64 profile_end; /* the ticket after them */
    rd_atomic32 unsettled;   /* submits see to `tuner` or `profile` first */
    uint32_t mode_set;       /* by rondo_exec_set_mode last; under `lock` */
    uint64_t carried_sum;    /* over the edges between replays, to tell others by */
    int in_group;            /* other execs share the series */
    char placed[96];         /* how, for rondo_exec_describe */
    uint8_t *flags;          /* by recorded node: RONDO_SPMD...; RD_NO_TASK: it is none */
    struct rd_kernel_forms kernel_forms;
    rondo_task_fn **off; /* by node: what it runs when it is enabled again; NULL: it is enabled */
    struct rd_retasked **retasked;     /* by node: its argument since it was changed, or NULL */
    size_t recorded_holders;           /* the first ones; those behind are of one changed node */
    rondo_instantiate_options options; /* as given, but `cpus` NULL */
    rd_atomic32 interpreted;           /* mode of the frames to come, on a core of lanes */
    rd_atomic32 closed;                /* destroyed, or replaced by a newer version */
    rd_atomic32 replaced;              /* the latter: its handle names another exec by now */
    rd_atomic64 refs;                  /* its own, and of cores that retire */
    struct rd_exec_stays *stays;       /* src/exec/stay.h; NULL: the runtime has no devices */
    uint64_t drain;                    /* the cleaner's: the ticket after its last one */
    int draining;
};

/* What a change to an exec returns that was replaced by a newer version meanwhile, and what it is
 * to be tried on again: no status that leaves the library. */
enum { RD_LOOK_AGAIN = -3 };

/* ---- instantiate.c, lower.c, destroy.c */
/* `series`: to be one of; NULL: a series of its own. */
rondo_status rd_exec_new(struct rd_subgraph *g, const rondo_instantiate_options *options,
                         struct rd_series *series, struct rd_exec **exec);
/* With the options of another exec, in its series. */
rondo_status rd_exec_new_like(struct rd_subgraph *g, struct rd_exec *like, struct rd_exec **exec);
/* Gives it its handle and starts it. MEMORY: the exec is as it was. */
rondo_status rd_exec_publish(struct rd_exec *x);
/* All of an exec but its cores. `e`: the expanded recording. */
rondo_status rd_exec_lower(struct rd_exec *x, struct rd_subgraph *e);
/* Functions and arguments of the first core's ops; later cores copy them. */
rondo_status rd_exec_lower_ops(struct rd_exec *x, struct rd_subgraph *e, struct rd_core *c);
void rd_exec_unlower(struct rd_exec *x);
struct rd_sticky *rd_sticky_new(struct rd_exec *x);
void rd_sticky_free(struct rd_garbage *garbage);
/* A core of lanes, which can interpret. */
struct rd_core *rd_exec_lanes(struct rd_exec *x); /* under the lock */
/* control.c: replays from now on are interpreted, or run on x->chosen, as the mode says that was
 * set last, else the one that it was instantiated with. MEMORY: for the interpreter. */
rondo_status rd_exec_choose(struct rd_exec *x);
/* Element (0,0,0) of a temporary's instance. */
static inline void *rd_slot_base(char *instance, int64_t origin)
{
    return (void *)((uintptr_t)instance - (uintptr_t)origin);
}
/* The worker of a processor of a plan. */
struct rd_worker *rd_exec_worker(const struct rd_exec *x, uint32_t processor);
/* A plan from the recipe. INVALID: it cannot be compiled so. */
rondo_status rd_exec_compile(struct rd_exec *x, enum rd_core_kind kind, int interpret_only,
                             struct rd_plan **plan);
void rd_recipe_free(struct rd_exec *x);
/* A core of a kind from the recipe, ready but for its attachment. */
rondo_status rd_exec_make_core(struct rd_exec *x, enum rd_core_kind kind, int interpret_only,
                               struct rd_core **core);
/* profile.c: places the nodes by the costs measured so far, and goes on compiled. What fails leaves
 * the exec as it was placed. Outside of read sections; any thread. */
void rd_exec_place_anew(struct rd_exec *x);
/* update.c */
uint64_t rd_exec_sum_carried(const struct rd_graph *g);
/* group.c */
rondo_status rd_exec_new_group(struct rd_subgraph *const *subgraphs, uint32_t count,
                               const rondo_instantiate_options *options, struct rd_exec **execs);
static inline void rd_exec_ref(struct rd_exec *x) { rd_add_relaxed(&x->refs, 1); }
/* Frees an exec that nothing runs any more. */
void rd_exec_unref(struct rd_exec *x);
int rd_exec_sweep(struct rd_tenant *tenant, struct rd_unmet *unmet);
int rd_exec_closed(struct rd_tenant *tenant, struct rd_unmet *unmet);
void rd_exec_tenant_free(struct rd_tenant *tenant);

/* ---- fill.c */
/* Waits to fill a frame are never needed here: its ticket says that its last replay has ended. */
void rd_frame_fill(struct rd_exec *x, uint64_t ticket, const struct rd_request *call, uint64_t k);
void rd_frame_clear_bad(const struct rd_track *t, struct rd_frame *f);
/* Lets go of what a frame holds, unless somebody else is doing that. */
void rd_frame_let_go(struct rd_exec *x, struct rd_frame *f);
/* The same if its replay has ended; else the count of done that says so. 0: it holds nothing. */
uint64_t rd_frame_let_go_if_ended(struct rd_exec *x, struct rd_track *t, struct rd_frame *f);

/* Publishes the ticket's frame, without waking anyone. */
static inline void rd_frame_publish(struct rd_track *t, uint64_t local)
{
    /* Release: the whole frame; pairs with the acquire in lane.c's begin. */
    rd_store_release(&rd_track_frame(t, local)->seq, local + 1);
}
void rd_track_wake_some(struct rd_track *t);
/* Wakes who waits for a frame of the track; behind a fence since its publication. */
static inline void rd_track_wake(struct rd_track *t)
{
    if (RD_UNLIKELY(rd_load_relaxed(&t->submit_wake) != 0))
        rd_track_wake_some(t);
}

/* ---- validate.c */
rondo_status rd_request_check(struct rd_exec *x, const rondo_replay_args *args,
                              struct rd_request *call);
void rd_request_end(struct rd_exec *x, struct rd_request *call);
rondo_status rd_exec_param_index(const struct rd_exec *x, rondo_param param, const char *what,
                                 uint32_t *index);

/* The index behind a handle of a parameter that was checked. */
static inline uint32_t rd_exec_param_at(const struct rd_exec *x, rondo_param param)
{
    if (RD_LIKELY(param.id >> 32 == x->serial))
        return ((uint32_t)param.id & 0x3fffffff) - 1;
    return rd_exec_parts_find(&x->parts, param.id) - 1;
}

/* ---- submit.c */
/* What a submit leaves its caller with. */
struct rd_submitted {
    rondo_event event;
    struct rd_source *source;
    struct rd_lane *lane; /* its seat is taken for the caller, who drives it and gives it back */
    uint64_t first, end;  /* tickets; with those of other calls between them, of one in parts */
    int timed;            /* the replays' begin and end are noted */
};
rondo_status rd_exec_submit(rondo_exec handle, const rondo_replay_args *args, int drive,
                            int64_t deadline, struct rd_submitted *out);
/* Takes `count` tickets in a row: fills the call's core, first, count, epoch, stop and mode. AGAIN:
 * *wait_source has to reach *wait_count first. */
rondo_status rd_exec_take(struct rd_exec *x, uint64_t count, struct rd_request *call,
                          struct rd_source **wait_source, uint64_t *wait_count);

/* ---- control.c */
rondo_status rd_exec_set_param(struct rd_exec *x, rondo_param param, const void *value);
rondo_status rd_exec_set_mode(struct rd_exec *x, uint32_t mode);
rondo_status rd_exec_reset(struct rd_exec *x);
rondo_status rd_exec_destroy(rondo_exec handle);

/* ---- retask.c, update.c, touch.c: changes to what an exec runs. None of them is called inside a
 * read section or a task. */
/* Keeps tickets from being given out until rd_exec_go_on. *count: what the series' source has to
 * reach until nothing is in flight. RD_LOOK_AGAIN: another exec has taken its place. */
rondo_status rd_exec_freeze(struct rd_exec *x, uint64_t *count);
/* Keeps tickets from being given out, and waits until nothing is in flight. */
rondo_status rd_exec_halt(struct rd_exec *x);
void rd_exec_go_on(struct rd_exec *x);
rondo_status rd_exec_update_task(struct rd_exec *x, rondo_node node, const rondo_task_desc *desc);
rondo_status rd_exec_enable(struct rd_exec *x, rondo_node node, int enabled);
rondo_status rd_exec_update(struct rd_exec *x, struct rd_subgraph *g);
void rd_exec_free_retasked(struct rd_exec *x);
rondo_status rd_exec_touch(struct rd_exec *x);
/* The nodes [first, first + count) a handle stands for. */
int rd_exec_has_node(const struct rd_exec *x, rondo_node node, uint32_t *first, uint32_t *count);
rondo_status rd_exec_nodes_of(const struct rd_exec *x, rondo_node node, uint32_t *first,
                              uint32_t *count);

/* ---- wait.c */
/* Waits for an event; the caller drives the exec's cpu 0 lanes meanwhile. deadline: rd_os.now_ns
 * time, negative: for ever. `lane` as in rd_submitted, given back in any case. AGAIN past the
 * deadline. */
/* *clean: 1 if it is known that no replay of the exec up to this one failed; clean NULL: the caller
 * waits for room, and drives the lane as long as it has work. */
rondo_status rd_wait(struct rd_source *s, uint64_t id, uint64_t count, int64_t deadline,
                     struct rd_lane *lane, int *clean);

/* ---- describe.c, result.c */
void rd_exec_describe(struct rd_exec *x, void (*write)(void *, const char *), void *context);
void rd_exec_count_all(struct rd_exec *x, rondo_exec_counts *counts);
rondo_status rd_exec_node_info(struct rd_exec *x, rondo_node node, rondo_node_info *info);
rondo_status rd_exec_result(struct rd_exec *x, struct rd_source *s, uint64_t count,
                            rondo_result *result);
/* event_at.c: the event that a node, or all of a handle's nodes, are over in the replay of an event
 * of `s`, which is not complete. {0, 0}: they are. */
rondo_status rd_exec_event_at(struct rd_exec *x, struct rd_source *s, rondo_event replay,
                              rondo_node node, rondo_event *event);
/* The result of the last of `end` replays none of which failed. */
void rd_result_success(uint64_t end, rondo_result *result);
/* The worst that became of the ended replays [first, end). */
rondo_status rd_exec_result_of(struct rd_exec *x, uint64_t first, uint64_t end,
                               rondo_result *result);
uint64_t rd_exec_ended(struct rd_exec *x); /* replays that have ended, in order */
/* The event of the replay submitted last, or of none. */
rondo_event rd_exec_latest(const struct rd_exec *x);

/* ---- times.c */
void rd_exec_node_times(struct rd_exec *x, uint32_t node, rondo_node_info *info);
/* The slowest nodes, if any was timed. */
void rd_exec_describe_times(struct rd_exec *x, void (*write)(void *context, const char *text),
                            void *context);

#endif
