/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo/loop.h, on top of the other public calls: a recording, the exec made from it, and the exec
 * of the recording before, until the new one has taken over. */
#include "src/api/loop.h"

#include "src/api/desc.h"
#include "src/base/id.h"
#include "src/base/rcu.h"
#include "src/exec/exec.h"
#include "src/machine/worker.h"

#include <rondo/loop.h>
#include <stdio.h>

struct rd_loop {
    struct rd_runtime *rt;
    rd_atomic64 refs; /* the handle, and one per call under way */
    rondo_runtime runtime;
    char *name, *cpus; /* of desc and options; NULL as there */
    rondo_subgraph_desc desc;
    rondo_instantiate_options options;
    rondo_subgraph recording; /* {0}: none yet */
    int open;                 /* handed out, and no replay since */
    rondo_exec exec, old;     /* {0}: none. `old` ran before `exec`, which has run nothing yet */
    int ran;                  /* exec has replays */
    rondo_event gate;         /* the last replay before exec's first; {0, 0}: none */
    rondo_status error;       /* sticks until the loop is invalidated */
    char message[RD_MESSAGE_BYTES];
};

struct rd_runtime *rd_loop_runtime(const struct rd_loop *l) { return l->rt; }

static const char *name_of(const struct rd_loop *l) { return l->name ? l->name : "subgraph"; }

/* ---- life */

static struct rd_loop *loop_get(rondo_loop handle, rondo_status *status)
{
    struct rd_loop *l;
    rd_rcu_read_lock();
    l = rd_id_find(handle.id, RD_ID_LOOP);
    if (l) /* relaxed: the handle's own reference goes after a grace period */
        rd_add_relaxed(&l->refs, 1);
    rd_rcu_read_unlock();
    *status = l ? RONDO_OK : rd_id_error(handle.id, RD_ID_LOOP);
    return l;
}

static void free_text(struct rd_runtime *rt, char *text)
{
    if (text)
        rd_free(&rt->alloc, text, strlen(text) + 1);
}

static void loop_put(struct rd_loop *l)
{
    struct rd_runtime *rt = l->rt;
    /* acq_rel: every call's use of the loop is before its freeing. */
    if (rd_sub_acq_rel(&l->refs, 1) != 1)
        return;
    free_text(rt, l->name);
    free_text(rt, l->cpus);
    rd_free(&rt->alloc, l, sizeof *l);
    rd_runtime_unref(rt);
}

/* Copies what the descriptions point to. */
static int take_texts(struct rd_loop *l)
{
    struct rd_allocator *a = &l->rt->alloc;
    l->name = l->desc.name ? rd_strdup(a, l->desc.name) : NULL;
    l->cpus = l->options.cpus ? rd_strdup(a, l->options.cpus) : NULL;
    if (!l->name != !l->desc.name || !l->cpus != !l->options.cpus)
        return 0;
    l->desc.name = l->name;
    l->options.cpus = l->cpus;
    return 1;
}

/* Takes over the caller's reference of the runtime, in any case. */
static rondo_status loop_new(struct rd_runtime *rt, rondo_runtime handle,
                             const rondo_subgraph_desc *desc,
                             const rondo_instantiate_options *options, rondo_loop *loop)
{
    struct rd_loop *l = rd_zalloc(&rt->alloc, sizeof *l, _Alignof(struct rd_loop));
    rondo_status status = RONDO_OK;
    uint64_t id = 0;
    if (!l) {
        rd_runtime_unref(rt);
        return rd_error(RONDO_ERR_MEMORY, "rondo_loop_create: no memory");
    }
    rd_store_relaxed(&l->refs, 1); /* not shared yet */
    l->rt = rt;
    l->runtime = handle;
    l->desc = *desc;
    l->options = *options;
    if (!take_texts(l))
        status = rd_error(RONDO_ERR_MEMORY, "rondo_loop_create: no memory for a name");
    if (!status) /* what is wrong with the description is told here */
        status = rondo_subgraph_create(handle, &l->desc, &l->recording);
    if (!status && !(id = rd_id_new(RD_ID_LOOP, l))) {
        rondo_subgraph_destroy(l->recording);
        status = rd_error(RONDO_ERR_MEMORY, "rondo_loop_create: no memory for a handle");
    }
    if (status) {
        loop_put(l);
        return status;
    }
    loop->id = id;
    return RONDO_OK;
}

rondo_status rondo_loop_create_sized(rondo_runtime runtime, const rondo_subgraph_desc *desc,
                                     size_t desc_bytes, const rondo_instantiate_options *options,
                                     size_t options_bytes, rondo_loop *loop)
{
    static const rondo_subgraph_desc no_desc;
    static const rondo_instantiate_options no_options;
    rondo_subgraph_desc d;
    rondo_instantiate_options o;
    struct rd_runtime *rt;
    rondo_status status;
    if (!loop)
        return rd_error(RONDO_ERR_INVALID, "rondo_loop_create: `loop` is NULL");
    status = rd_desc_take("rondo_subgraph_desc", &d, sizeof d, desc ? desc : &no_desc,
                          desc ? desc_bytes : sizeof d);
    if (!status)
        status = rd_desc_take("rondo_instantiate_options", &o, sizeof o,
                              options ? options : &no_options, options ? options_bytes : sizeof o);
    if (status)
        return status;
    rt = rd_runtime_get(runtime, &status);
    return rt ? loop_new(rt, runtime, &d, &o, loop) : status;
}

/* Takes a part of the loop away and destroys it; it may have been destroyed behind its back. */
static void drop_exec(rondo_exec *exec)
{
    if (exec->id)
        (void)rondo_exec_destroy(*exec);
    exec->id = 0;
}
static void drop_recording(struct rd_loop *l)
{
    if (l->recording.id)
        (void)rondo_subgraph_destroy(l->recording);
    l->recording.id = 0;
    l->open = 0;
}

rondo_status rondo_loop_destroy(rondo_loop loop)
{
    struct rd_loop *l = rd_id_retire(loop.id, RD_ID_LOOP);
    if (!l)
        return rd_id_error(loop.id, RD_ID_LOOP);
    rd_rcu_synchronize(); /* pairs with the read section of loop_get */
    drop_exec(&l->exec);
    drop_exec(&l->old);
    drop_recording(l);
    loop_put(l);
    return RONDO_OK;
}

/* ---- recording */

/* Keeps this thread's message. */
static rondo_status stick(struct rd_loop *l, rondo_status status)
{
    l->error = status;
    (void)snprintf(l->message, sizeof l->message, "%s", rd_error_text());
    return status;
}

static int begin_recording(struct rd_loop *l, rondo_subgraph *subgraph)
{
    rondo_status status = RONDO_OK;
    if (l->error) {
        (void)rd_error(l->error, "%s", l->message);
        return 0;
    }
    if (!subgraph)
        status = rd_error(RONDO_ERR_INVALID, "loop '%s': rondo_loop_record: `subgraph` is NULL",
                          name_of(l));
    else if (l->open)
        status = rd_error(RONDO_ERR_INVALID,
                          "loop '%s': rondo_loop_record while a recording is open: no "
                          "rondo_loop_replay since",
                          name_of(l));
    else if (!l->exec.id && !l->recording.id)
        status = rondo_subgraph_create(l->runtime, &l->desc, &l->recording);
    if (status) {
        stick(l, status);
        return 0;
    }
    if (l->exec.id)
        return 0;
    l->open = 1;
    *subgraph = l->recording;
    return 1;
}

int rondo_loop_record(rondo_loop loop, rondo_subgraph *subgraph)
{
    rondo_status status;
    struct rd_loop *l = loop_get(loop, &status);
    int record;
    if (!l)
        return 0;
    record = begin_recording(l, subgraph);
    loop_put(l);
    return record;
}

/* The event that all replays submitted so far have ended. */
static rondo_event latest(rondo_exec exec)
{
    rondo_event event = { 0, 0 };
    struct rd_exec *x;
    rd_rcu_read_lock();
    x = rd_id_find(exec.id, RD_ID_EXEC);
    if (x)
        event = rd_exec_latest(x);
    rd_rcu_read_unlock();
    return event;
}

rondo_status rondo_loop_invalidate(rondo_loop loop)
{
    rondo_status status;
    struct rd_loop *l = loop_get(loop, &status);
    if (!l)
        return status;
    drop_recording(l);
    l->error = RONDO_OK;
    if (l->ran) {
        l->gate = latest(l->exec);
        l->old = l->exec; /* there is none before: exec has run */
        l->exec.id = 0;
        l->ran = 0;
    }
    drop_exec(&l->exec);
    loop_put(l);
    return RONDO_OK;
}

/* ---- replaying */

static rondo_status make_exec(struct rd_loop *l)
{
    rondo_status status;
    if (!l->open)
        return rd_error(RONDO_ERR_INVALID,
                        "loop '%s': nothing is recorded: rondo_loop_record comes first",
                        name_of(l));
    status = rondo_instantiate(l->recording, &l->options, &l->exec);
    if (status) /* with more memory the same call succeeds */
        return status == RONDO_ERR_MEMORY ? status : stick(l, status);
    l->open = 0;
    return RONDO_OK;
}

/* Whether replays of the exec before are still under way. */
static int is_gated(struct rd_loop *l)
{
    if (l->gate.source && rondo_event_wait(l->gate, 0) == RONDO_OK)
        l->gate.source = 0;
    return l->gate.source != 0;
}

/* Later replays of this call do not wait for its first: then the caller does. */
static rondo_status wait_gate(struct rd_loop *l, const rondo_replay_args *args)
{
    if (args->flags & RONDO_NO_WAIT || rd_task_depth)
        return rd_error(RONDO_ERR_AGAIN, "loop '%s': replays of the recording before are under way",
                        name_of(l));
    return rondo_event_wait(l->gate, -1);
}

static rondo_status replay_gated(struct rd_loop *l, const rondo_replay_args *args,
                                 size_t args_bytes, rondo_event *event)
{
    static const rondo_replay_args none;
    rondo_event after[RD_GATES_MAX];
    rondo_replay_args a;
    rondo_status status = rd_desc_take("rondo_replay_args", &a, sizeof a, args ? args : &none,
                                       args ? args_bytes : sizeof none);
    if (status)
        return status;
    if ((a.count > 1 && l->options.order != RONDO_SERIAL) || a.after_count >= RD_GATES_MAX)
        status = wait_gate(l, &a);
    else if (a.after || !a.after_count) { /* else refused below */
        if (a.after_count)
            memcpy(after, a.after, a.after_count * sizeof *after);
        after[a.after_count++] = l->gate;
        a.after = after;
    }
    return status ? status : rondo_replay(l->exec, &a, event);
}

static rondo_status replay(struct rd_loop *l, const rondo_replay_args *args, size_t args_bytes,
                           rondo_event *event)
{
    rondo_status status = l->exec.id ? RONDO_OK : make_exec(l);
    if (status)
        return status;
    if (RD_UNLIKELY(is_gated(l)))
        status = replay_gated(l, args, args_bytes, event);
    else
        status = rondo_replay_sized(l->exec, args, args_bytes, event);
    if (status || l->ran)
        return status;
    l->ran = 1;
    drop_exec(&l->old); /* its replays go on; the gate knows their end */
    if (l->options.order == RONDO_SERIAL)
        l->gate.source = 0; /* all others wait for this replay */
    return RONDO_OK;
}

rondo_status rondo_loop_replay_sized(rondo_loop loop, const rondo_replay_args *args,
                                     size_t args_bytes, rondo_event *event)
{
    rondo_status status;
    struct rd_loop *l = loop_get(loop, &status);
    if (!l)
        return status;
    if (l->error)
        status = rd_error(l->error, "%s", l->message);
    else
        status = replay(l, args, args_bytes, event);
    loop_put(l);
    return status;
}

rondo_status rondo_loop_wait_sized(rondo_loop loop, rondo_result *result, size_t result_bytes)
{
    static const rondo_result success;
    rondo_status status;
    struct rd_loop *l = loop_get(loop, &status);
    rondo_exec exec;
    if (!l)
        return status;
    exec = l->ran ? l->exec : l->old;
    if (exec.id)
        status = rondo_exec_wait_sized(exec, result, result_bytes);
    else if (result)
        rd_desc_give(result, result_bytes, &success, sizeof success);
    loop_put(l);
    return status;
}

rondo_status rondo_loop_exec(rondo_loop loop, rondo_exec *exec)
{
    rondo_status status;
    struct rd_loop *l;
    if (!exec)
        return rd_error(RONDO_ERR_INVALID, "rondo_loop_exec: `exec` is NULL");
    l = loop_get(loop, &status);
    if (!l)
        return status;
    if (l->exec.id)
        *exec = l->exec;
    else
        status =
            rd_error(RONDO_ERR_STALE, "loop '%s': no exec before the first replay", name_of(l));
    loop_put(l);
    return status;
}
