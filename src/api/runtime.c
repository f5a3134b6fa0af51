/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/runtime.h and rondo/base.h. */
#include "src/machine/runtime.h"

#include "src/api/desc.h"
#include "src/api/loop.h"
#include "src/base/id.h"
#include "src/cleaner/cleaner.h"
#include "src/event/counter.h"
#include "src/exec/exec.h"
#include "src/machine/worker.h"

#include <malloc.h>
#include <rondo/loop.h>

const char *rondo_error_message(void) { return rd_error_text(); }

rondo_status rondo_runtime_open_sized(const rondo_runtime_options *options, size_t options_bytes,
                                      rondo_runtime *runtime)
{
    static const rondo_runtime_options none;
    rondo_runtime_options o;
    rondo_status status =
        rd_desc_take("rondo_runtime_options", &o, sizeof o, options ? options : &none,
                     options ? options_bytes : sizeof none);
    if (status)
        return status;
    if (!runtime)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_open: runtime is NULL");
    return rd_runtime_open(&o, runtime);
}

/* ---- closing */

static rondo_status destroy_exec(uint64_t id) { return rd_exec_destroy((rondo_exec){ id }); }
static rondo_status destroy_subgraph(uint64_t id)
{
    return rondo_subgraph_destroy((rondo_subgraph){ id });
}
static rondo_status destroy_buffer(uint64_t id)
{
    return rondo_buffer_destroy((rondo_buffer){ id });
}
static rondo_status destroy_counter(uint64_t id)
{
    return rondo_counter_destroy((rondo_counter){ id });
}
static rondo_status destroy_loop(uint64_t id) { return rondo_loop_destroy((rondo_loop){ id }); }

static struct rd_runtime *runtime_of(uint64_t id, enum rd_id_type type)
{
    struct rd_runtime *rt = NULL;
    void *object;
    rd_rcu_read_lock();
    object = rd_id_find(id, type);
    if (object)
        rt = type == RD_ID_EXEC       ? ((struct rd_exec *)object)->rt
             : type == RD_ID_SUBGRAPH ? ((struct rd_subgraph *)object)->rt
             : type == RD_ID_COUNTER  ? ((struct rd_counter_object *)object)->rt
             : type == RD_ID_LOOP     ? rd_loop_runtime(object)
                                      : ((struct rd_buffer *)object)->rt;
    rd_rcu_read_unlock();
    return rt;
}

/* Destroys what is left of one type; returns how many there were. */
static uint32_t destroy_all(struct rd_runtime *rt, enum rd_id_type type,
                            rondo_status (*destroy)(uint64_t id))
{
    uint32_t cursor = 0, count = 0;
    uint64_t id;
    while ((id = rd_id_next(type, &cursor)) != 0)
        if (runtime_of(id, type) == rt && destroy(id) == RONDO_OK)
            count++;
    return count;
}

/* What was not destroyed before the close. */
struct left {
    uint32_t loops, execs, subgraphs, buffers, counters;
};

static void report_left(struct rd_runtime *rt, const struct left *l)
{
#ifdef RD_DEBUG
    if (l->loops + l->execs + l->subgraphs + l->buffers + l->counters)
        rd_log(&rt->log, RONDO_LOG_WARNING,
               "runtime closed with %u loops, %u execs, %u subgraphs, %u buffers and %u counters "
               "left",
               l->loops, l->execs, l->subgraphs, l->buffers, l->counters);
#else
    (void)rt;
    (void)l;
#endif
}

rondo_status rondo_runtime_close(rondo_runtime runtime)
{
    struct left l;
    struct rd_runtime *rt;
    if (rd_task_depth)
        return rd_error(RONDO_ERR_WOULD_BLOCK, "rondo_runtime_close inside a task");
    if (!rd_runtime_leave(runtime))
        return RONDO_OK;
    rt = rd_id_retire(runtime.id, RD_ID_RUNTIME);
    if (!rt)
        return rd_id_error(runtime.id, RD_ID_RUNTIME);
    l.loops = destroy_all(rt, RD_ID_LOOP, destroy_loop); /* with what they own */
    l.execs = destroy_all(rt, RD_ID_EXEC, destroy_exec);
    l.subgraphs = destroy_all(rt, RD_ID_SUBGRAPH, destroy_subgraph);
    l.buffers = destroy_all(rt, RD_ID_BUFFER, destroy_buffer);
    l.counters = destroy_all(rt, RD_ID_COUNTER, destroy_counter);
    report_left(rt, &l);
    rd_cleaner_drain(rt);
    rd_runtime_end(rt);
    return RONDO_OK;
}

/* ---- the living runtime */

rondo_status rondo_runtime_drain(rondo_runtime runtime)
{
    rondo_status status;
    struct rd_runtime *rt;
    if (rd_task_depth)
        return rd_error(RONDO_ERR_WOULD_BLOCK, "rondo_runtime_drain inside a task");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    rd_cleaner_drain(rt);
    rd_runtime_unref(rt);
    return RONDO_OK;
}

rondo_status rondo_runtime_trim(rondo_runtime runtime)
{
    rondo_status status = rondo_runtime_drain(runtime);
    if (!status)
        malloc_trim(0); /* the C library keeps freed memory; hooks of the user's own are theirs */
    return status;
}

rondo_status rondo_runtime_stats_sized(rondo_runtime runtime, rondo_runtime_statistics *statistics,
                                       size_t statistics_bytes)
{
    rondo_runtime_statistics s;
    rondo_status status;
    struct rd_runtime *rt;
    if (!statistics)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_stats: statistics is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    s.execs = rd_load_relaxed(&rt->execs);
    s.subgraphs = rd_load_relaxed(&rt->subgraphs);
    s.buffers = rd_load_relaxed(&rt->buffers);
    s.frames = rd_load_relaxed(&rt->frames);
    s.sources = rd_load_relaxed(&rt->sources);
    s.held = rd_load_relaxed(&rt->held);
    s.bytes = rd_load_relaxed(&rt->alloc.bytes) - rt->own_bytes;
    s.allocations = rd_load_relaxed(&rt->alloc.calls);
    s.instances = rd_load_relaxed(&rt->instances);
    s.device_bytes = 0;
    for (uint32_t i = 0; rt->devices && i < rt->devices->count; i++)
        s.device_bytes += rd_load_relaxed(&rt->devices->device[i].used);
    rd_runtime_unref(rt);
    rd_desc_give(statistics, statistics_bytes, &s, sizeof s);
    return RONDO_OK;
}

rondo_status rondo_runtime_processors(rondo_runtime runtime, uint32_t *count)
{
    rondo_status status;
    struct rd_runtime *rt;
    if (!count)
        return rd_error(RONDO_ERR_INVALID, "rondo_runtime_processors: count is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    *count = rt->processors;
    rd_runtime_unref(rt);
    return RONDO_OK;
}
