/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/exec.h: checks arguments, finds the exec, calls below. */
#include "src/exec/exec.h"

#include "src/api/desc.h"
#include "src/base/id.h"
#include "src/base/os.h"
#include "src/machine/worker.h"

static int64_t deadline_of(int64_t timeout_ns)
{
    int64_t now, deadline;
    if (timeout_ns < 0)
        return -1;
    if (timeout_ns == 0)
        return 0;
    now = rd_os.now_ns();
    return __builtin_add_overflow(now, timeout_ns, &deadline) ? -1 : deadline;
}

rondo_status rondo_instantiate_sized(rondo_subgraph subgraph,
                                     const rondo_instantiate_options *options, size_t options_bytes,
                                     rondo_exec *exec)
{
    static const rondo_instantiate_options none;
    rondo_instantiate_options o;
    struct rd_subgraph *g;
    struct rd_exec *x;
    rondo_status status =
        rd_desc_take("rondo_instantiate_options", &o, sizeof o, options ? options : &none,
                     options ? options_bytes : sizeof none);
    if (status)
        return status;
    if (!exec)
        return rd_error(RONDO_ERR_INVALID, "rondo_instantiate: exec is NULL");
    g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_error(g);
    if (!status)
        status = rd_exec_new(g, &o, NULL, &x);
    rd_subgraph_unref(g);
    if (status)
        return status;
    status = rd_exec_publish(x);
    if (status)
        rd_exec_unref(x);
    else
        exec->id = x->id;
    return status;
}

rondo_status rondo_instantiate_group_sized(const rondo_subgraph *subgraphs, uint32_t count,
                                           const rondo_instantiate_options *options,
                                           size_t options_bytes, rondo_exec *execs)
{
    static const rondo_instantiate_options none;
    rondo_instantiate_options o;
    struct rd_subgraph *g[RD_GROUP_MOST];
    struct rd_exec *x[RD_GROUP_MOST];
    uint32_t got = 0;
    rondo_status status =
        rd_desc_take("rondo_instantiate_options", &o, sizeof o, options ? options : &none,
                     options ? options_bytes : sizeof none);
    if (!status && (!subgraphs || !execs))
        status = rd_error(RONDO_ERR_INVALID, "rondo_instantiate_group: %s is NULL",
                          subgraphs ? "execs" : "subgraphs");
    for (; got < count && got < RD_GROUP_MOST && !status; got++) {
        g[got] = rd_subgraph_get(subgraphs[got], &status);
        if (!g[got])
            break;
        status = rd_subgraph_error(g[got]);
    }
    if (!status)
        status = rd_exec_new_group(g, count, &o, x);
    for (uint32_t i = 0; i < got; i++)
        rd_subgraph_unref(g[i]);
    for (uint32_t i = 0; i < count && !status; i++)
        execs[i].id = x[i]->id;
    return status;
}

rondo_status rondo_exec_destroy(rondo_exec exec) { return rd_exec_destroy(exec); }

/* ---- replaying */

static rondo_status take_args(const rondo_replay_args **args, size_t args_bytes,
                              rondo_replay_args *copy)
{
    rondo_status status;
    if (!*args || RD_LIKELY(args_bytes == sizeof **args))
        return RONDO_OK;
    status = rd_desc_take("rondo_replay_args", copy, sizeof *copy, *args, args_bytes);
    *args = copy;
    return status;
}

rondo_status rondo_replay_sized(rondo_exec exec, const rondo_replay_args *args, size_t args_bytes,
                                rondo_event *event)
{
    struct rd_submitted submitted;
    rondo_replay_args copy;
    rondo_status status = take_args(&args, args_bytes, &copy);
    if (!status)
        status = rd_exec_submit(exec, args, 0, -1, &submitted);
    if (!status && event)
        *event = submitted.event;
    return status;
}

/* Results of the replays [first, end) of an exec that may be gone by now. */
static rondo_status tell_result(rondo_exec exec, uint64_t first, uint64_t end, rondo_result *result,
                                size_t result_bytes)
{
    rondo_result own;
    rondo_status status;
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(exec.id, RD_ID_EXEC);
    if (x)
        status = rd_exec_result_of(x, first, end, &own);
    else
        status = rd_error(RONDO_ERR_STALE,
                          "exec: handle 0x%llx was destroyed before its result was read",
                          (unsigned long long)exec.id);
    rd_rcu_read_unlock();
    if (x && result)
        rd_desc_give(result, result_bytes, &own, sizeof own);
    if (x && status)
        rd_error(status, "replay %llu: node '%s': %s", (unsigned long long)own.replay, own.node,
                 own.message);
    return status;
}

static void give_success(uint64_t end, rondo_result *result, size_t result_bytes)
{
    rondo_result own;
    rd_result_success(end, &own);
    rd_desc_give(result, result_bytes, &own, sizeof own);
}

rondo_status rondo_replay_and_wait_sized(rondo_exec exec, const rondo_replay_args *args,
                                         size_t args_bytes, int64_t timeout_ns,
                                         rondo_result *result, size_t result_bytes)
{
    int64_t deadline = deadline_of(timeout_ns);
    struct rd_submitted s;
    rondo_replay_args copy;
    rondo_status status;
    uint64_t end;
    int clean = 0;
    if (rd_task_depth)
        return rd_error(RONDO_ERR_WOULD_BLOCK, "rondo_replay_and_wait inside a task");
    status = take_args(&args, args_bytes, &copy);
    if (!status)
        status = rd_exec_submit(exec, args, 1, deadline, &s);
    if (!status)
        status = rd_wait(s.source, s.event.source, s.event.count, deadline, s.lane, &clean);
    if (status)
        return status;
    end = s.end;
    if (RD_UNLIKELY(!clean || s.timed))
        return tell_result(exec, s.first, end, result, result_bytes);
    if (result)
        give_success(end, result, result_bytes);
    return RONDO_OK;
}

/* ---- one exec */

/* Calls `what` with the exec of a handle, inside a read section; again with the newer one if it was
 * replaced meanwhile. */
#define WITH_EXEC(handle, x, call)                                  \
    do {                                                            \
        struct rd_exec *x;                                          \
        rd_rcu_read_lock();                                         \
        x = rd_id_find((handle).id, RD_ID_EXEC);                    \
        status = x ? (call) : rd_id_error((handle).id, RD_ID_EXEC); \
        rd_rcu_read_unlock();                                       \
    } while (status == RD_LOOK_AGAIN)

rondo_status rondo_exec_set_param(rondo_exec exec, rondo_param param, const void *value)
{
    rondo_status status;
    WITH_EXEC(exec, x, rd_exec_set_param(x, param, value));
    return status;
}

rondo_status rondo_exec_set_mode(rondo_exec exec, uint32_t mode)
{
    rondo_status status;
    WITH_EXEC(exec, x, rd_exec_set_mode(x, mode));
    return status;
}

rondo_status rondo_exec_reset(rondo_exec exec)
{
    rondo_status status;
    WITH_EXEC(exec, x, rd_exec_reset(x));
    return status;
}

/* The exec of a handle, kept from being freed; NULL with *status told. For what takes its time. */
static struct rd_exec *get_exec(rondo_exec exec, const char *call, rondo_status *status)
{
    struct rd_exec *x;
    if (rd_task_depth) {
        *status = rd_error(RONDO_ERR_WOULD_BLOCK, "%s inside a task", call);
        return NULL;
    }
    rd_rcu_read_lock();
    x = rd_id_find(exec.id, RD_ID_EXEC);
    if (x)
        rd_exec_ref(x);
    else
        *status = rd_id_error(exec.id, RD_ID_EXEC);
    rd_rcu_read_unlock();
    return x;
}

/* The same with an exec that is kept from being freed, outside of a read section. */
#define WITH_KEPT_EXEC(handle, what, x, call)                \
    do {                                                     \
        struct rd_exec *x = get_exec(handle, what, &status); \
        if (!x)                                              \
            break;                                           \
        status = (call);                                     \
        rd_exec_unref(x);                                    \
    } while (status == RD_LOOK_AGAIN)

rondo_status rondo_exec_update(rondo_exec exec, rondo_subgraph subgraph)
{
    rondo_status status;
    struct rd_subgraph *g = rd_subgraph_get(subgraph, &status);
    if (!g)
        return status;
    status = rd_subgraph_error(g);
    if (!status)
        WITH_KEPT_EXEC(exec, "rondo_exec_update", x, rd_exec_update(x, g));
    rd_subgraph_unref(g);
    return status;
}

rondo_status rondo_exec_update_task_sized(rondo_exec exec, rondo_node node,
                                          const rondo_task_desc *desc, size_t desc_bytes)
{
    rondo_task_desc d;
    rondo_status status = rd_desc_take("rondo_task_desc", &d, sizeof d, desc, desc_bytes);
    if (!status)
        WITH_KEPT_EXEC(exec, "rondo_exec_update_task", x, rd_exec_update_task(x, node, &d));
    return status;
}

rondo_status rondo_exec_enable(rondo_exec exec, rondo_node node, int enabled)
{
    rondo_status status;
    WITH_KEPT_EXEC(exec, "rondo_exec_enable", x, rd_exec_enable(x, node, enabled));
    return status;
}

rondo_status rondo_exec_touch(rondo_exec exec)
{
    rondo_status status;
    WITH_KEPT_EXEC(exec, "rondo_exec_touch", x, rd_exec_touch(x));
    return status;
}

static rondo_status latest_event(struct rd_exec *x, struct rd_source **source, rondo_event *event)
{
    *source = x->series->all;
    *event = rd_exec_latest(x);
    return RONDO_OK;
}

static rondo_status first_failure(struct rd_exec *x, uint64_t count, rondo_result *result)
{
    rondo_status status = rd_failures_first(&x->series->failures, &x->program, count - 1, result);
    if (!count) {
        result->replay = 0;
        result->replays_run = 0;
    }
    if (status)
        rd_error(status, "replay %llu: node '%s': %s", (unsigned long long)result->replay,
                 result->node, result->message);
    return status;
}

rondo_status rondo_exec_wait_sized(rondo_exec exec, rondo_result *result, size_t result_bytes)
{
    struct rd_source *source = NULL;
    rondo_event event = { 0, 0 };
    rondo_result own;
    rondo_status status;
    int clean;
    WITH_EXEC(exec, x, latest_event(x, &source, &event));
    if (status)
        return status;
    if (!rd_source_reached(source, event.source, event.count)) {
        if (rd_task_depth)
            return rd_error(RONDO_ERR_WOULD_BLOCK, "rondo_exec_wait inside a task");
        rd_wait(source, event.source, event.count, -1, NULL, &clean);
    }
    own.status = -1;
    WITH_EXEC(exec, x, first_failure(x, event.count, &own));
    if (own.status >= 0 && result)
        rd_desc_give(result, result_bytes, &own, sizeof own);
    return status;
}

/* ---- events */

rondo_status rondo_event_wait(rondo_event event, int64_t timeout_ns)
{
    struct rd_source *s;
    int clean;
    if (!event.source)
        return RONDO_OK;
    s = rd_source_find(event.source);
    if (!s)
        return rd_error(RONDO_ERR_INVALID, "{0x%llx, %llu} is no event of this process",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    if (rd_source_reached(s, event.source, event.count))
        return RONDO_OK;
    if (timeout_ns == 0)
        return rd_error(RONDO_ERR_AGAIN, "event {0x%llx, %llu} is not complete",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    if (rd_task_depth)
        return rd_error(RONDO_ERR_WOULD_BLOCK,
                        "rondo_event_wait inside a task: the event is not complete");
    return rd_wait(s, event.source, event.count, deadline_of(timeout_ns), NULL, &clean);
}

static rondo_status event_result(struct rd_source *s, rondo_event event, rondo_result *result)
{
    uint64_t id = rd_load_relaxed(&s->exec);
    struct rd_exec *x = rd_exec_of_source(s);
    if (id == (uint64_t)RD_SOURCE_COUNTER && !rd_source_is_old(s, event.source))
        return rd_error(RONDO_ERR_INVALID, "event {0x%llx, %llu} is a counter's, of no replay",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    if (!x || rd_source_is_old(s, event.source))
        return rd_error(RONDO_ERR_STALE,
                        "event {0x%llx, %llu}: its exec is gone, and the result with it",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    return rd_exec_result(x, s, event.count, result);
}

rondo_status rondo_event_result_sized(rondo_event event, rondo_result *result, size_t result_bytes)
{
    struct rd_source *s = rd_source_find(event.source);
    rondo_result own;
    rondo_status status;
    if (!result)
        return rd_error(RONDO_ERR_INVALID, "rondo_event_result: result is NULL");
    if (!s || !event.count)
        return rd_error(RONDO_ERR_INVALID, "{0x%llx, %llu} is no event of a replay of this process",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    if (!rd_source_reached(s, event.source, event.count))
        return rd_error(RONDO_ERR_AGAIN, "event {0x%llx, %llu} is not complete",
                        (unsigned long long)event.source, (unsigned long long)event.count);
    rd_rcu_read_lock();
    status = event_result(s, event, &own);
    rd_rcu_read_unlock();
    if (!status)
        rd_desc_give(result, result_bytes, &own, sizeof own);
    return status;
}

/* ---- looking inside */

rondo_status rondo_exec_node_info_sized(rondo_exec exec, rondo_node node, rondo_node_info *info,
                                        size_t info_bytes)
{
    rondo_node_info own;
    rondo_status status;
    if (!info)
        return rd_error(RONDO_ERR_INVALID, "rondo_exec_node_info: info is NULL");
    WITH_EXEC(exec, x, rd_exec_node_info(x, node, &own));
    if (!status)
        rd_desc_give(info, info_bytes, &own, sizeof own);
    return status;
}

static rondo_status count_all(struct rd_exec *x, rondo_exec_counts *counts)
{
    rd_exec_count_all(x, counts);
    return RONDO_OK;
}

rondo_status rondo_exec_count_sized(rondo_exec exec, rondo_exec_counts *counts, size_t counts_bytes)
{
    rondo_exec_counts own;
    rondo_status status;
    if (!counts)
        return rd_error(RONDO_ERR_INVALID, "rondo_exec_count: counts is NULL");
    WITH_EXEC(exec, x, count_all(x, &own));
    if (!status)
        rd_desc_give(counts, counts_bytes, &own, sizeof own);
    return status;
}

static rondo_status describe(struct rd_exec *x, void (*write)(void *, const char *), void *context)
{
    rd_exec_describe(x, write, context);
    return RONDO_OK;
}

rondo_status rondo_exec_describe(rondo_exec exec, void (*write)(void *context, const char *text),
                                 void *context)
{
    rondo_status status;
    if (!write)
        return rd_error(RONDO_ERR_INVALID, "rondo_exec_describe: write is NULL");
    WITH_EXEC(exec, x, describe(x, write, context));
    return status;
}
