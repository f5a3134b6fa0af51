/* SPDX-License-Identifier: BSD-3-Clause */
/* A runtime's life: opened with its workers and cleaner, closed when nothing of it is left. */
#include "src/machine/runtime.h"

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/cleaner/cleaner.h"
#include "src/device/devices.h"
#include "src/event/source.h"
#include "src/machine/host.h"
#include "src/machine/keeper.h"
#include "src/machine/spin.h"
#include "src/machine/topology.h"
#include "src/machine/where.h"
#include "src/machine/worker.h"
#include "src/trace/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PARK_AFTER_NS = 50000, STALL_S_MAX = 86400 };
#define DEVICE_BYTES_MAX 1000000000000000

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

/* ---- threads */

/* Stops the first `count` workers. */
static void stop_workers(struct rd_runtime *rt, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rd_worker_stop(&rt->workers[i]);
    rd_worker_drivers_left(rt);
    rd_free_array(&rt->alloc, rt->workers, rt->processors, sizeof *rt->workers);
}

/* Waits for the first `count` threads; those that could not start are as if never started. */
static rondo_status await_workers(struct rd_runtime *rt, uint32_t count, rondo_status status)
{
    rondo_status first = status;
    for (uint32_t i = 0; i < count; i++) {
        status = rd_worker_await(&rt->workers[i]);
        if (status)
            rt->workers[i].kind = RD_WORKER_ADOPTED; /* has no thread: nothing to join */
        if (!first)
            first = status;
    }
    return first;
}

static rondo_status start_workers(struct rd_runtime *rt, const struct rd_cpus *cpus)
{
    char text[256];
    rondo_status status = RONDO_OK, first;
    uint32_t i;
    rt->processors = cpus->count;
    rt->workers = rd_zalloc(&rt->alloc, cpus->count * sizeof *rt->workers, RD_LINE);
    if (!rt->workers)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for %u workers", cpus->count);
    for (i = 0; i < cpus->count && !status; i++)
        status = rd_worker_start(&rt->workers[i], rt, i, cpus->cpu[i], i < rt->adopted);
    first = await_workers(rt, status ? i - 1 : i, status);
    if (!first)
        return RONDO_OK;
    snprintf(text, sizeof text, "%s", rd_error_text()); /* stopping runs hooks of the user's */
    stop_workers(rt, status ? i - 1 : i);
    return rd_error(first, "%s", text);
}

static rondo_status start_threads(struct rd_runtime *rt, const struct rd_cpus *cpus,
                                  const struct rd_cpus *cleaner_cpus)
{
    rondo_status status;
    rd_spin_workers((int)cpus->count);
    status = start_workers(rt, cpus);
    if (status)
        goto undo_spin;
    status = rd_cleaner_start(rt, cleaner_cpus->cpu, cleaner_cpus->count);
    if (!status)
        return RONDO_OK;
    stop_workers(rt, rt->processors);
undo_spin:
    rd_spin_workers(-(int)cpus->count);
    return status;
}

static void stop_threads(struct rd_runtime *rt)
{
    rd_host_stop(rt);
    stop_workers(rt, rt->processors); /* one may still be poking the cleaner */
    rd_cleaner_stop(rt);
    rd_spin_workers(-(int)rt->processors);
}

/* ---- opening */

/* The lists of the options, as numbers. */
struct lists {
    struct rd_cpus cpus, cleaner_cpus;
};

static void free_lists(struct rd_allocator *a, struct lists *l)
{
    rd_cpus_free(a, &l->cleaner_cpus);
    rd_cpus_free(a, &l->cpus);
}

static rondo_status read_lists(struct rd_allocator *a, const rondo_runtime_options *o,
                               struct lists *l)
{
    rondo_status status = rd_cpus_parse(a, "cpus", o->cpus, &l->cpus);
    if (!status && o->cleaner_cpus)
        status = rd_cpus_parse(a, "cleaner_cpus", o->cleaner_cpus, &l->cleaner_cpus);
    if (!status && o->adopt > l->cpus.count)
        status = rd_error(RONDO_ERR_INVALID, "runtime: adopt is %u, there are %u processors",
                          o->adopt, l->cpus.count);
    if (status)
        free_lists(a, l);
    return status;
}

static rondo_status check_options(const rondo_runtime_options *o)
{
    if (o->park_after_ns < 0 && o->park_after_ns != RONDO_NEVER)
        return rd_error(RONDO_ERR_INVALID, "runtime: park_after_ns is %lld, must not be negative",
                        (long long)o->park_after_ns);
    if (!o->allocate != !o->release)
        return rd_error(RONDO_ERR_INVALID, "runtime: %s is given without %s",
                        o->allocate ? "allocate" : "release", o->allocate ? "release" : "allocate");
    if (o->flags & ~(uint32_t)RONDO_SHARED)
        return rd_error(RONDO_ERR_INVALID, "runtime: flags is 0x%x, known is 0x%x", o->flags,
                        RONDO_SHARED);
    if (!o->sched_policy && o->sched_priority)
        return rd_error(RONDO_ERR_INVALID, "runtime: sched_priority is %d without a sched_policy",
                        o->sched_priority);
    return RONDO_OK;
}

static struct rd_runtime *make(const rondo_runtime_options *o)
{
    struct rd_runtime *rt = rd_zalloc(rd_allocator_system(), sizeof *rt, RD_LINE);
    if (!rt)
        return NULL;
    rd_allocator_init(&rt->alloc, o->allocate, o->release, o->context);
    rt->log.write = o->log;
    rt->log.context = o->context;
    rt->park_after_ns = o->park_after_ns == RONDO_NEVER ? INT64_MAX
                        : o->park_after_ns              ? o->park_after_ns
                                                        : PARK_AFTER_NS;
    rt->stall_ns = rd_env_number(RD_ENV_RONDO_STALL_S, 0, STALL_S_MAX, 0) * 1000000000;
    rt->adopted = o->adopt;
    rt->sched_policy = o->sched_policy;
    rt->sched_priority = o->sched_priority;
    rt->thread_start = o->thread_start;
    rt->thread_stop = o->thread_stop;
    rt->hook_context = o->context;
    rd_store_relaxed(&rt->refs, 1); /* published by rd_id_new */
    return rt;
}

/* What the options or the environment name. */
static rondo_status open_devices(struct rd_runtime *rt, const rondo_runtime_options *o)
{
    const char *which = o->devices ? o->devices : rd_env_text(RD_ENV_RONDO_DEVICES);
    uint64_t bytes = o->device_bytes;
    rondo_status status;
    if (!bytes)
        bytes = (uint64_t)rd_env_number(RD_ENV_RONDO_DEVICE_BYTES, 0, DEVICE_BYTES_MAX, 0);
    status = rd_devices_open(&rt->alloc, which, bytes, &rt->devices);
    if (!status && rt->devices && (status = rd_keeper_start(rt)) != RONDO_OK)
        rd_devices_close(rt->devices);
    return status;
}

static void close_devices(struct rd_runtime *rt)
{
    rd_keeper_stop(rt);
    rd_devices_close(rt->devices);
}

static rondo_status open_own(const rondo_runtime_options *options, struct rd_runtime **opened)
{
    struct lists lists = { { NULL, 0 }, { NULL, 0 } };
    struct rd_runtime *rt = make(options);
    rondo_status status;
    if (!rt)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory");
    status = read_lists(&rt->alloc, options, &lists);
    if (status)
        goto free_runtime;
    status = rd_cpus_parse(&rt->alloc, "cpus", NULL, &rt->anywhere);
    if (status)
        goto free_read;
    status = rd_trace_open(rt, &rt->trace);
    if (status)
        goto free_anywhere;
    status = open_devices(rt, options);
    if (status)
        goto close_trace;
    status = start_threads(rt, &lists.cpus, &lists.cleaner_cpus);
    if (status)
        goto close_devices;
    free_lists(&rt->alloc, &lists);
    rt->own_bytes = rd_load_relaxed(&rt->alloc.bytes); /* statistics leave it out */
    rt->id = rd_id_new(RD_ID_RUNTIME, rt);
    if (!rt->id) {
        stop_threads(rt);
        status = rd_error(RONDO_ERR_MEMORY, "runtime: no memory for its handle");
        goto close_devices;
    }
    rd_where_add(rt);
    *opened = rt;
    return RONDO_OK;
close_devices:
    close_devices(rt);
close_trace:
    rd_trace_close(rt->trace);
free_anywhere:
    rd_cpus_free(&rt->alloc, &rt->anywhere);
free_read:
    free_lists(&rt->alloc, &lists);
free_runtime:
    rd_free(rd_allocator_system(), rt, sizeof *rt);
    return status;
}

/* ---- sharing */

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rd_runtime *shared; /* under the lock; NULL: none is open */

/* What joins is not used, but has to be right. */
static rondo_status check_joiner(const rondo_runtime_options *options)
{
    struct lists lists = { { NULL, 0 }, { NULL, 0 } };
    rondo_status status = read_lists(rd_allocator_system(), options, &lists);
    if (!status)
        free_lists(rd_allocator_system(), &lists);
    return status;
}

static rondo_status open_shared(const rondo_runtime_options *options, struct rd_runtime **opened)
{
    rondo_status status = RONDO_OK;
    pthread_mutex_lock(&share_lock);
    if (shared)
        status = check_joiner(options);
    else
        status = open_own(options, &shared);
    if (!status) {
        shared->opens++;
        *opened = shared;
    }
    pthread_mutex_unlock(&share_lock);
    return status;
}

int rd_runtime_leave(rondo_runtime handle)
{
    int last = 1;
    pthread_mutex_lock(&share_lock);
    if (shared && shared->id == handle.id) {
        last = !--shared->opens;
        if (last)
            shared = NULL;
    }
    pthread_mutex_unlock(&share_lock);
    return last;
}

rondo_status rd_runtime_open(const rondo_runtime_options *options, rondo_runtime *handle)
{
    struct rd_runtime *rt = NULL;
    rondo_status status = check_options(options);
    if (status)
        return status;
    status = options->flags & RONDO_SHARED ? open_shared(options, &rt) : open_own(options, &rt);
    if (!status)
        handle->id = rt->id;
    return status;
}

void rd_runtime_end(struct rd_runtime *rt)
{
    rd_where_remove(rt);
    rd_rcu_synchronize(); /* nobody is between finding the handle and counting a reference */
    rd_keeper_stop(rt);   /* its copies may be the last users of buffers */
    stop_threads(rt);
    rd_devices_close(rt->devices);
    rd_trace_close(rt->trace);
    rd_cpus_free(&rt->alloc, &rt->anywhere);
    rd_runtime_unref(rt);
}

/* ---- what objects of a runtime ask of it */

rondo_status rd_cpus_of_runtime(struct rd_runtime *rt, const char *list, uint32_t **processors,
                                uint32_t *count)
{
    struct rd_allocator *a = &rt->alloc;
    uint32_t *have = rd_alloc_array(a, rt->processors, sizeof *have);
    rondo_status status;
    if (!have)
        return rd_error(RONDO_ERR_MEMORY, "cpus: no memory for %u processors", rt->processors);
    for (uint32_t i = 0; i < rt->processors; i++)
        have[i] = list ? rt->workers[i].cpu : i;
    if (!list) {
        *processors = have;
        *count = rt->processors;
        return RONDO_OK;
    }
    status = rd_cpus_places(a, "cpus", list, "the runtime's CPUs", have, rt->processors, processors,
                            count);
    rd_free_array(a, have, rt->processors, sizeof *have);
    return status;
}

struct rd_source *rd_runtime_source(struct rd_runtime *rt)
{
    struct rd_source *s = rd_source_new();
    if (!s)
        return NULL;
    rd_store_relaxed(&s->awake, rt->park_after_ns == INT64_MAX); /* published with its id */
    rd_add_relaxed(&rt->sources, 1);                             /* a statistic */
    return s;
}

void rd_runtime_source_end(struct rd_runtime *rt, struct rd_source *s)
{
    rd_sub_relaxed(&rt->sources, 1); /* a statistic; who waits finds it gone */
    rd_source_retire(s);
}

static pthread_mutex_t helpers_lock = PTHREAD_MUTEX_INITIALIZER; /* of every runtime's list */

void rd_runtime_add_helper(struct rd_runtime *rt, struct rd_worker *w)
{
    pthread_mutex_lock(&helpers_lock);
    rd_store_relaxed(&w->next_helper, rd_load_relaxed(&rt->helpers)); /* under the lock */
    rd_store_release(&rt->helpers, w); /* for a look from a signal handler of the same thread */
    pthread_mutex_unlock(&helpers_lock);
}

void rd_runtime_remove_helper(struct rd_runtime *rt, struct rd_worker *w)
{
    rd_atomic(struct rd_worker *) *link = &rt->helpers;
    struct rd_worker *at;
    pthread_mutex_lock(&helpers_lock);
    while ((at = rd_load_relaxed(link)) != NULL && at != w)
        link = &at->next_helper;
    if (at)
        rd_store_relaxed(link, rd_load_relaxed(&w->next_helper)); /* under the lock */
    pthread_mutex_unlock(&helpers_lock);
}
