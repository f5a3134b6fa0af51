/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's machine: what every object of a runtime shares. */
#ifndef RD_MACHINE_RUNTIME_H
#define RD_MACHINE_RUNTIME_H

#include "src/base/alloc.h"
#include "src/base/log.h"
#include "src/machine/topology.h"

#include <rondo/runtime.h>

struct rd_worker;
struct rd_cleaner;
struct rd_devices;
struct rd_keeper;
struct rd_host;
struct rd_trace;

struct rd_runtime {
    uint64_t id;
    struct rd_allocator alloc;
    struct rd_log log;
    int64_t park_after_ns; /* how long to look for work before sleeping; INT64_MAX: never sleep */
    int64_t stall_ns;      /* of the watchdog; 0: off */
    uint64_t own_bytes;    /* obtained through the allocator by the runtime itself */
    uint32_t processors;
    struct rd_worker *workers; /* one per processor */
    uint32_t adopted;          /* the first ones, that have no thread */
    rd_atomic32 drivers;       /* threads that drive one of those, or are about to leave it */
    struct rd_cpus anywhere;   /* those its opener might use: of threads that are not pinned */
    int32_t sched_policy, sched_priority; /* of workers */
    rondo_status (*thread_start)(void *context, rondo_processor processor);
    void (*thread_stop)(void *context, rondo_processor processor);
    void *hook_context;
    rd_atomic(struct rd_host *) host;      /* NULL: not needed so far */
    rd_atomic(struct rd_worker *) helpers; /* of all execs; changed under a lock of runtime.c */
    uint32_t opens;                        /* RONDO_SHARED: not yet closed; under another */
    struct rd_cleaner *cleaner;
    struct rd_trace *trace;     /* src/trace */
    struct rd_devices *devices; /* src/device/devices.h; NULL: none were opened */
    struct rd_keeper *keeper;   /* src/machine/keeper.h: of buffers' instances; NULL: no devices */
    rd_atomic64 keeper_epoch;   /* its */
    rd_atomic32 tracing;        /* a trace runs: frames filled from now on are RD_SLOW_TIMED */
    /* Whose turn it is to be the one team that runs (src/frame/team.c): tickets given out, the one
     * served, who waits for its turn. */
    rd_atomic64 gang_tickets, gang_turn, gang_wake;
    rd_atomic64 refs; /* the handle, and one per live object */
    /* statistics */
    rd_atomic64 execs, subgraphs, buffers, frames, sources, held, instances;
};

/* rondo_runtime_open, with complete options. */
rondo_status rd_runtime_open(const rondo_runtime_options *options, rondo_runtime *handle);
/* The beginning of rondo_runtime_close: 1 if the runtime is to be closed now, 0 if others still
 * share it. */
int rd_runtime_leave(rondo_runtime handle);
/* The end of rondo_runtime_close: the handle was retired, all objects were destroyed and drained.
 * Drops the handle's reference. */
void rd_runtime_end(struct rd_runtime *rt);
/* A counted reference to the runtime of a handle; NULL with this thread's message set and *status
 * told. */
struct rd_runtime *rd_runtime_get(rondo_runtime handle, rondo_status *status);
void rd_runtime_ref(struct rd_runtime *rt);
void rd_runtime_unref(struct rd_runtime *rt);

/* Which processors of the runtime a CPU list names, in its order: *processors (to be freed by
 * rd_free_array) and *count. NULL: all. INVALID naming what the runtime does not have; MEMORY. */
rondo_status rd_cpus_of_runtime(struct rd_runtime *rt, const char *list, uint32_t **processors,
                                uint32_t *count);
/* An event source of the runtime's, counted in its statistics: whoever waits for it sleeps or not
 * as the runtime's threads do. NULL when there is no memory. Ended by rd_runtime_source_end. */
struct rd_source *rd_runtime_source(struct rd_runtime *rt);
void rd_runtime_source_end(struct rd_runtime *rt, struct rd_source *s);
/* Helpers that run, for who looks (where.h). */
void rd_runtime_add_helper(struct rd_runtime *rt, struct rd_worker *w);
void rd_runtime_remove_helper(struct rd_runtime *rt, struct rd_worker *w);

#endif
