/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to single tasks of an exec: another function and argument, on and off.
 *
 * They are made in place, in the ops of every core, while nothing is in flight and no ticket is
 * given out: a lane that has ended its last replay reads its ops again only after it has acquired
 * the seq of a frame that was published after the change. */
#include "src/exec/tuner.h"

#include "src/exec/device.h"
#include "src/exec/lower_node.h"

#include <string.h>

/* The argument of a task that was changed. */
struct rd_retasked {
    size_t bytes; /* of the whole block */
    RD_ALIGNED char block[];
};

rondo_status rd_exec_freeze(struct rd_exec *x, uint64_t *count)
{
    pthread_mutex_lock(&x->placing);
    if (rd_load_relaxed(&x->replaced)) { /* written under the lock */
        pthread_mutex_unlock(&x->placing);
        return RD_LOOK_AGAIN;
    }
    *count = rd_series_freeze(x->series);
    return RONDO_OK;
}

rondo_status rd_exec_halt(struct rd_exec *x)
{
    struct rd_series *s = x->series;
    uint64_t count;
    int clean;
    rondo_status status = rd_exec_freeze(x, &count);
    if (status)
        return status;
    if (!rd_source_reached(s->all, rd_source_id(s->all), count))
        rd_wait(s->all, rd_source_id(s->all), count, -1, NULL, &clean);
    return RONDO_OK;
}

void rd_exec_go_on(struct rd_exec *x)
{
    rd_series_thaw(x->series);
    pthread_mutex_unlock(&x->placing);
}

/* Calls `change` with every op of the node, of all cores, tracks and variants. */
static void each_op(struct rd_exec *x, uint32_t node,
                    void (*change)(struct rd_op *op, void *context), void *context)
{
    pthread_mutex_lock(&x->lock);
    for (struct rd_core *c = x->cores; c; c = c->next) {
        uint32_t at = c->plan->op_of_node[node];
        for (uint32_t k = 0; k < c->tracks; k++) {
            change(&c->track[k].op[at], context);
            for (uint32_t v = 1; v < c->plan->variants; v++)
                change(&rd_track_ops(&c->track[k], v)[at], context);
        }
    }
    pthread_mutex_unlock(&x->lock);
}

/* ---- on and off */

static int do_nothing(rondo_task *self, const void *arg)
{
    (void)arg;
    ((struct rd_self *)self)->skipped = 1;
    return 0;
}

static void set_function(struct rd_op *op, void *context) { op->fn = *(rondo_task_fn **)context; }

static void switch_node(struct rd_exec *x, uint32_t node, int enabled)
{
    rondo_task_fn *fn = do_nothing;
    if (rd_exec_is_member(x, node)) {
        rd_exec_devices_switch(x, node, enabled);
        return;
    }
    if (enabled == !x->off[node])
        return;
    if (enabled) {
        fn = x->off[node];
        x->off[node] = NULL;
    } else {
        struct rd_core *c = x->chosen;
        x->off[node] = c->track[0].op[c->plan->op_of_node[node]].fn;
    }
    each_op(x, node, set_function, &fn);
}

/* The node and the ranks of its team. */
static void switch_team(struct rd_exec *x, uint32_t node, int enabled)
{
    switch_node(x, node, enabled);
    for (uint32_t v = x->nodes; x->team_of && v < x->program.nodes; v++)
        if (x->team_of[v] == node)
            switch_node(x, v, enabled);
}

/* Where an exec has nodes on devices, what a node overwrites is current in its own memory alone
 * from then on, and was not brought there before: so such a node always runs. */
static rondo_status check_overwrites(const struct rd_exec *x, uint32_t first, uint32_t count)
{
    const struct rd_program *p = &x->program;
    for (uint32_t v = first; v < first + count; v++)
        for (uint32_t i = p->node[v].place; i < p->node[v + 1].place; i++)
            if (p->modes[i] == RONDO_WRITE && x->slot[p->places[i]].kind != RD_SLOT_TOKEN)
                return rd_error(RONDO_ERR_INVALID,
                                "exec '%s': enable: node %u '%s' overwrites slot '%s', and the "
                                "exec has nodes on devices: it cannot be switched off (record it "
                                "with `when`, or the access as RONDO_READ_WRITE)",
                                p->exec_name, v, rd_program_name(p, v),
                                p->names + x->slot[p->places[i]].name);
    return RONDO_OK;
}

rondo_status rd_exec_enable(struct rd_exec *x, rondo_node node, int enabled)
{
    uint32_t first = 0, count = 0;
    rondo_status status = rd_exec_nodes_of(x, node, &first, &count);
    if (!status && !enabled && x->devices)
        status = check_overwrites(x, first, count);
    if (!status)
        status = rd_exec_halt(x);
    if (status)
        return status;
    if (!x->off)
        x->off = rd_zalloc_array(&x->rt->alloc, x->program.nodes, sizeof *x->off);
    if (!x->off)
        status = rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory to switch nodes of %u",
                          x->program.exec_name, x->program.nodes);
    for (uint32_t v = first; v < first + count && !status; v++)
        switch_team(x, v, enabled != 0);
    rd_exec_go_on(x);
    return status;
}

/* ---- another task */

static void free_block(struct rd_exec *x, struct rd_retasked *r)
{
    if (r)
        rd_free(&x->rt->alloc, r, r->bytes);
}

void rd_exec_free_retasked(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    for (uint32_t v = 0; x->retasked && v < x->nodes; v++)
        free_block(x, x->retasked[v]);
    rd_free_array(a, x->retasked, x->nodes, sizeof *x->retasked);
    rd_free_array(a, x->off, x->program.nodes, sizeof *x->off);
}

struct change {
    rondo_task_fn *fn;
    void *arg;
    const void *bytes; /* of the argument, arg_bytes of them */
    size_t arg_bytes;
    int more;   /* the node is more than a plain function: its op's argument says what */
    int is_off; /* its op runs nothing at present */
};

static void set_task(struct rd_op *op, void *context)
{
    const struct change *c = context;
    if (c->more) {
        struct rd_node_work *w = (struct rd_node_work *)(uintptr_t)op->arg;
        w->fn = c->fn;
        if (w->patch_count) /* parameters are written there: the track's own bytes */
            memcpy(w->arg, c->bytes, c->arg_bytes);
        else
            w->arg = c->arg;
        w->arg_bytes = c->arg_bytes;
        return;
    }
    if (!c->is_off)
        op->fn = c->fn;
    op->arg = c->arg;
}

static rondo_status refuse(const struct rd_exec *x, uint32_t node, const char *field,
                           unsigned long long given, unsigned long long was)
{
    return rd_error(
        RONDO_ERR_INVALID, "exec '%s': update_task: node %u '%s': %s is %llu, was recorded as %llu",
        x->program.exec_name, node, rd_program_name(&x->program, node), field, given, was);
}

static rondo_status check_task(const struct rd_exec *x, uint32_t node, const rondo_task_desc *d)
{
    const rondo_task_node *n = &x->program.node[node];
    uint32_t accesses = n[1].place - n[0].place;
    uint32_t given = d->flags & ~(uint32_t)RONDO_NO_ACCESS;
    if (!d->fn)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': update_task: node %u '%s': fn is NULL",
                        x->program.exec_name, node, rd_program_name(&x->program, node));
    if (d->arg_bytes && !d->arg)
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': update_task: node %u '%s': arg_bytes is %zu but arg is NULL",
                        x->program.exec_name, node, rd_program_name(&x->program, node),
                        d->arg_bytes);
    if (d->arg && !d->arg_bytes)
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': update_task: node %u '%s': arg is given but arg_bytes is 0",
                        x->program.exec_name, node, rd_program_name(&x->program, node));
    if (x->flags[node] & RD_NO_TASK)
        return rd_error(RONDO_ERR_INVALID, "exec '%s': update_task: node %u '%s' is no task",
                        x->program.exec_name, node, rd_program_name(&x->program, node));
    if (given && given != x->flags[node])
        return refuse(x, node, "flags", given, x->flags[node]);
    if (d->access_count && d->access_count != accesses)
        return refuse(x, node, "access_count", d->access_count, accesses);
    for (uint32_t i = 0; i < d->access_count; i++)
        if (((uint32_t)d->accesses[i].slot.id & 0x3fffffff) - 1 != x->program.places[n->place + i])
            return rd_error(RONDO_ERR_INVALID,
                            "exec '%s': update_task: node %u '%s': access %u is to another slot "
                            "than recorded, '%s'",
                            x->program.exec_name, node, rd_program_name(&x->program, node), i,
                            x->program.names + x->slot[x->program.places[n->place + i]].name);
    if (d->after_count || d->carried_count)
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': update_task: node %u '%s': edges cannot be changed",
                        x->program.exec_name, node, rd_program_name(&x->program, node));
    return RONDO_OK;
}

static void set_contexts(struct rd_exec *x, void **contexts)
{
    pthread_mutex_lock(&x->lock);
    x->program.contexts = contexts;
    for (struct rd_core *c = x->cores; c; c = c->next)
        rd_core_set_contexts(c);
    pthread_mutex_unlock(&x->lock);
}

/* A holder of its own for the node, whose old one stays until the exec ends: others may share it.
 * *index: of its context. */
static rondo_status add_holder(struct rd_exec *x, struct rd_holder *h, uint32_t *index)
{
    struct rd_program *p = &x->program;
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_holder **holders = rd_alloc_array(a, x->holder_count + 1, sizeof *holders);
    void **contexts = rd_alloc_array(a, p->context_count + 1, sizeof *contexts), **old;
    if (!holders || !contexts) {
        rd_free_array(a, holders, x->holder_count + 1, sizeof *holders);
        rd_free_array(a, contexts, p->context_count + 1, sizeof *contexts);
        return RONDO_ERR_MEMORY;
    }
    memcpy(holders, x->holder, x->holder_count * sizeof *holders);
    memcpy(contexts, p->contexts, p->context_count * sizeof *contexts);
    holders[x->holder_count] = h;
    contexts[p->context_count] = h->context;
    rd_free_array(a, x->holder, x->holder_count, sizeof *holders);
    x->holder = holders;
    x->holder_count++;
    old = p->contexts;
    set_contexts(x, contexts);
    rd_free_array(a, old, p->context_count, sizeof *contexts);
    *index = (uint32_t)p->context_count++;
    return RONDO_OK;
}

/* *dropped: what was the node's alone and is nobody's now, to be released when replays go on. */
static rondo_status set_context(struct rd_exec *x, const rondo_task_desc *d, uint32_t *index,
                                struct rd_holder **dropped)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_holder *h;
    if (!d->release && d->context == x->program.contexts[*index])
        return RONDO_OK;
    h = rd_zalloc(a, sizeof *h, 16);
    if (h) {
        h->context = d->context;
        h->release = d->release;
        rd_store_relaxed(&h->refs, 1); /* the exec's */
        if (*index > x->recorded_holders) {
            *dropped = x->holder[*index - 1];
            x->holder[*index - 1] = h;
            x->program.contexts[*index] = h->context;
            return RONDO_OK;
        }
        if (!add_holder(x, h, index))
            return RONDO_OK;
        rd_free(a, h, sizeof *h);
    }
    return rd_error(RONDO_ERR_MEMORY, "exec '%s': update_task: no memory for a context",
                    x->program.exec_name);
}

static rondo_status check_bytes(const struct rd_exec *x, uint32_t node, const struct change *c,
                                const struct rd_node_work *w)
{
    if (w->patch_count && w->arg_bytes != c->arg_bytes)
        return refuse(x, node, "arg_bytes of a task with patches", c->arg_bytes, w->arg_bytes);
    return RONDO_OK;
}

/* A copy of the argument. */
static struct rd_retasked *copy_arg(struct rd_exec *x, const rondo_task_desc *d)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_retasked *r;
    if (!x->retasked && !(x->retasked = rd_zalloc_array(a, x->nodes, sizeof *x->retasked)))
        return NULL;
    r = rd_alloc(a, sizeof *r + d->arg_bytes, RD_LINE);
    if (!r)
        return NULL;
    r->bytes = sizeof *r + d->arg_bytes;
    if (d->arg_bytes)
        memcpy(r->block, d->arg, d->arg_bytes);
    return r;
}

static void set_node(struct rd_exec *x, uint32_t node, uint32_t context, struct change *c)
{
    x->program.node[node].context = context;
    each_op(x, node, set_task, c);
}

static rondo_status change(struct rd_exec *x, uint32_t node, const rondo_task_desc *d,
                           struct rd_holder **dropped)
{
    const struct rd_core *core = x->chosen;
    const struct rd_op *op = &core->track[0].op[core->plan->op_of_node[node]];
    rondo_task_fn *runs = x->off && x->off[node] ? x->off[node] : op->fn;
    struct change c = { d->fn, NULL, d->arg, d->arg_bytes, runs == rd_node_run, runs != op->fn };
    uint32_t context = x->program.node[node].context;
    rondo_status status = c.more ? check_bytes(x, node, &c, op->arg) : RONDO_OK;
    struct rd_retasked *arg;
    if (status)
        return status;
    arg = copy_arg(x, d);
    if (!arg)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': update_task: no memory for %zu bytes",
                        x->program.exec_name, d->arg_bytes);
    status = set_context(x, d, &context, dropped);
    if (status) {
        free_block(x, arg);
        return status;
    }
    c.arg = d->arg_bytes ? arg->block : NULL;
    if (c.is_off && !c.more)
        x->off[node] = d->fn;
    set_node(x, node, context, &c);
    for (uint32_t v = x->nodes; x->team_of && v < x->program.nodes; v++)
        if (x->team_of[v] == node)
            set_node(x, v, context, &c);
    free_block(x, x->retasked[node]);
    x->retasked[node] = arg;
    if (x->recipe.cost && d->cost_ns > 0)
        rd_tuner_set_cost(x, node, d->cost_ns < UINT32_MAX ? (uint32_t)d->cost_ns : UINT32_MAX);
    return RONDO_OK;
}

rondo_status rd_exec_update_task(struct rd_exec *x, rondo_node node, const rondo_task_desc *desc)
{
    uint32_t first = 0, count = 0;
    struct rd_holder *dropped = NULL;
    rondo_status status = rd_exec_nodes_of(x, node, &first, &count);
    if (!status && count != 1)
        status = rd_error(RONDO_ERR_INVALID,
                          "exec '%s': update_task: the handle stands for %u nodes, not for one",
                          x->program.exec_name, count);
    if (!status)
        status = check_task(x, first, desc);
    if (!status)
        status = rd_exec_halt(x);
    if (status)
        return status;
    status = change(x, first, desc, &dropped);
    rd_exec_go_on(x);
    if (dropped)
        rd_holder_unref(&x->rt->alloc, dropped);
    return status;
}
