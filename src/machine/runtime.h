/* SPDX-License-Identifier: BSD-3-Clause */
/* A process's machine: what every object of a runtime shares. */
#ifndef RD_MACHINE_RUNTIME_H
#define RD_MACHINE_RUNTIME_H

#include "src/base/alloc.h"
#include "src/base/log.h"

#include <rondo/runtime.h>

struct rd_worker;
struct rd_cleaner;
struct rd_trace;

struct rd_runtime {
    uint64_t id;
    struct rd_allocator alloc;
    struct rd_log log;
    int64_t park_after_ns; /* how long to look for work before sleeping; 0 where threads outnumber
                              CPUs */
    uint64_t own_bytes;    /* obtained through the allocator by the runtime itself */
    uint32_t processors;
    struct rd_worker *workers; /* one per processor */
    struct rd_cleaner *cleaner;
    struct rd_trace *trace; /* src/trace */
    rd_atomic32 tracing;    /* a trace runs: frames filled from now on are RD_SLOW_TIMED */
    rd_atomic64 refs;       /* the handle, and one per live object */
    /* statistics */
    rd_atomic64 execs, subgraphs, buffers, frames, sources, held;
};

/* rondo_runtime_open, with complete options. */
rondo_status rd_runtime_open(const rondo_runtime_options *options, rondo_runtime *handle);
/* The end of rondo_runtime_close: the handle was retired, all objects were destroyed and drained.
 * Drops the handle's reference. */
void rd_runtime_end(struct rd_runtime *rt);
/* A counted reference to the runtime of a handle; NULL with this thread's message set and *status
 * told. */
struct rd_runtime *rd_runtime_get(rondo_runtime handle, rondo_status *status);
void rd_runtime_ref(struct rd_runtime *rt);
void rd_runtime_unref(struct rd_runtime *rt);

#endif
