/* SPDX-License-Identifier: BSD-3-Clause */
/* A runtime's life: opened with its workers and cleaner, closed when nothing of it is left. */
#include "src/machine/runtime.h"

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/cleaner/cleaner.h"
#include "src/machine/spin.h"
#include "src/machine/topology.h"
#include "src/machine/worker.h"
#include "src/trace/trace.h"

#include <string.h>

enum { PARK_AFTER_NS = 50000, STALL_S_MAX = 86400 };

void rd_runtime_ref(struct rd_runtime *rt)
{
    rd_add_relaxed(&rt->refs, 1); /* the caller holds one already */
}

void rd_runtime_unref(struct rd_runtime *rt)
{
    /* acq_rel: all that was done under other references is before the free. */
    if (rd_sub_acq_rel(&rt->refs, 1) == 1)
        rd_free(rd_allocator_system(), rt, sizeof *rt);
}

struct rd_runtime *rd_runtime_get(rondo_runtime handle, rondo_status *status)
{
    struct rd_runtime *rt;
    uint64_t refs;
    rd_rcu_read_lock();
    rt = rd_id_find(handle.id, RD_ID_RUNTIME);
    if (rt) {
        refs = rd_load_relaxed(&rt->refs);
        while (refs && !rd_cas_acq_rel(&rt->refs, &refs, refs + 1))
            ;
        if (!refs)
            rt = NULL;
    }
    rd_rcu_read_unlock();
    *status = rt ? RONDO_OK : rd_id_error(handle.id, RD_ID_RUNTIME);
    return rt;
}

/* Stops the first `count` workers. */
static void stop_workers(struct rd_runtime *rt, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rd_worker_stop(&rt->workers[i]);
    rd_free_array(&rt->alloc, rt->workers, rt->processors, sizeof *rt->workers);
}

static rondo_status start_workers(struct rd_runtime *rt, const struct rd_cpus *cpus)
{
    int64_t stall_ns = rd_env_number(RD_ENV_RONDO_STALL_S, 0, STALL_S_MAX, 0) * 1000000000;
    rondo_status status;
    rt->processors = cpus->count;
    rt->workers = rd_zalloc(&rt->alloc, cpus->count * sizeof *rt->workers, RD_LINE);
    if (!rt->workers)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for %u workers", cpus->count);
    for (uint32_t i = 0; i < cpus->count; i++) {
        rt->workers[i].stall_ns = stall_ns;
        status = rd_worker_start(&rt->workers[i], rt, i, cpus->cpu[i]);
        if (status) {
            stop_workers(rt, i);
            return status;
        }
    }
    return RONDO_OK;
}

static rondo_status start_threads(struct rd_runtime *rt, const rondo_runtime_options *options)
{
    struct rd_cpus cpus, cleaner_cpus = { NULL, 0 };
    rondo_status status = rd_cpus_parse(&rt->alloc, "cpus", options->cpus, &cpus);
    if (status)
        return status;
    if (options->cleaner_cpus)
        status = rd_cpus_parse(&rt->alloc, "cleaner_cpus", options->cleaner_cpus, &cleaner_cpus);
    if (status)
        goto free_cpus;
    rd_spin_workers((int)cpus.count);
    status = start_workers(rt, &cpus);
    if (status)
        goto undo_spin;
    status = rd_cleaner_start(rt, cleaner_cpus.cpu, cleaner_cpus.count);
    if (!status)
        goto free_cleaner_cpus;
    stop_workers(rt, rt->processors);
undo_spin:
    rd_spin_workers(-(int)cpus.count);
free_cleaner_cpus:
    rd_cpus_free(&rt->alloc, &cleaner_cpus);
free_cpus:
    rd_cpus_free(&rt->alloc, &cpus);
    return status;
}

static void stop_threads(struct rd_runtime *rt)
{
    rd_cleaner_stop(rt);
    stop_workers(rt, rt->processors);
    rd_spin_workers(-(int)rt->processors);
}

rondo_status rd_runtime_open(const rondo_runtime_options *options, rondo_runtime *handle)
{
    struct rd_runtime *rt;
    rondo_status status;
    if (options->park_after_ns < 0)
        return rd_error(RONDO_ERR_INVALID, "runtime: park_after_ns is %lld, must not be negative",
                        (long long)options->park_after_ns);
    if (!options->allocate != !options->release)
        return rd_error(RONDO_ERR_INVALID, "runtime: %s is given without %s",
                        options->allocate ? "allocate" : "release",
                        options->allocate ? "release" : "allocate");
    rt = rd_zalloc(rd_allocator_system(), sizeof *rt, RD_LINE);
    if (!rt)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory");
    rd_allocator_init(&rt->alloc, options->allocate, options->release, options->context);
    rt->log.write = options->log;
    rt->log.context = options->context;
    rt->park_after_ns = options->park_after_ns ? options->park_after_ns : PARK_AFTER_NS;
    rd_store_relaxed(&rt->refs, 1); /* published by rd_id_new */
    status = rd_trace_open(rt, &rt->trace);
    if (status)
        goto free_runtime;
    status = start_threads(rt, options);
    if (status)
        goto close_trace;
    rt->own_bytes = rd_load_relaxed(&rt->alloc.bytes); /* statistics leave it out */
    rt->id = rd_id_new(RD_ID_RUNTIME, rt);
    if (!rt->id) {
        stop_threads(rt);
        status = rd_error(RONDO_ERR_MEMORY, "runtime: no memory for its handle");
        goto close_trace;
    }
    handle->id = rt->id;
    return RONDO_OK;
close_trace:
    rd_trace_close(rt->trace);
free_runtime:
    rd_free(rd_allocator_system(), rt, sizeof *rt);
    return status;
}

void rd_runtime_end(struct rd_runtime *rt)
{
    rd_rcu_synchronize(); /* nobody is between finding the handle and counting a reference */
    stop_threads(rt);
    rd_trace_close(rt->trace);
    rd_runtime_unref(rt);
}
