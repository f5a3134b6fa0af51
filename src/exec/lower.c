/* SPDX-License-Identifier: BSD-3-Clause */
/* Lowers a recording: copies everything the exec needs of the subgraph, and gives the ops of its
 * first core their functions and arguments. */
#include "src/exec/exec.h"

#include "src/exec/device.h"
#include "src/exec/lower_node.h"

#include <string.h>

static void *copy_array(struct rd_exec *x, const void *from, size_t count, size_t size)
{
    void *to = rd_alloc_array(&x->rt->alloc, count, size);
    if (to && count)
        memcpy(to, from, count * size);
    return to;
}

static size_t align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* Where the next argument begins, `at` bytes being taken: aligned as any type of its size can ask
 * for, at least to 16 bytes and at most to 64. Small arguments of neighbouring ops share a line. */
static size_t arg_at(size_t at, size_t bytes)
{
    size_t align = bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
    return (at + align - 1) & ~(align - 1);
}

/* ---- the tables a task's view reads */

static void fill_nodes(struct rd_exec *x, const struct rd_subgraph *g)
{
    struct rd_program *p = &x->program;
    size_t place = 0, param = 0;
    for (size_t v = 0; v < g->nodes.count; v++) {
        const struct rd_node *n = &g->nodes.item[v];
        p->node[v] = (rondo_task_node){ (uint32_t)place, (uint32_t)param, n->chunk, n->holder };
        p->name[v] = n->name;
        if (p->tag)
            p->tag[v] = n->tag;
        for (uint32_t i = 0; i < n->access_count; i++, place++) {
            const struct rd_access *a = &g->accesses.item[n->access + i];
            p->places[place] = a->slot;
            p->modes[place] = a->mode;
            p->views[place] = g->boxes.item[a->box];
        }
        for (uint32_t i = 0; i < n->param_count; i++)
            p->param_at[param++] = g->params.item[g->param_uses.item[n->param + i]].offset;
    }
    p->node[g->nodes.count] = (rondo_task_node){ (uint32_t)place, (uint32_t)param, 0, 0 };
}

static int copy_program(struct rd_exec *x, const struct rd_subgraph *g)
{
    struct rd_program *p = &x->program;
    struct rd_allocator *a = &x->rt->alloc;
    size_t nodes = g->nodes.count, tagged = 0;
    for (size_t v = 0; v < nodes; v++) {
        p->place_count += g->nodes.item[v].access_count;
        p->param_count += g->nodes.item[v].param_count;
        tagged |= g->nodes.item[v].tag != 0;
    }
    p->chunk_count = g->chunks.count ? g->chunks.count : 1;
    p->context_count = g->holders.count + 1;
    p->names_bytes = g->names.count;
    p->slot_count = g->slots.count;
    p->nodes = (uint32_t)nodes;
    p->node = rd_alloc_array(a, nodes + 1, sizeof *p->node);
    p->name = rd_alloc_array(a, nodes, sizeof *p->name);
    p->places = rd_alloc_array(a, p->place_count, sizeof *p->places);
    p->modes = rd_alloc_array(a, p->place_count, 1);
    p->views = rd_alloc_array(a, p->place_count, sizeof *p->views);
    p->param_at = rd_alloc_array(a, p->param_count, sizeof *p->param_at);
    p->chunks = g->chunks.count ? copy_array(x, g->chunks.item, g->chunks.count, sizeof *p->chunks)
                                : rd_zalloc_array(a, 1, sizeof *p->chunks);
    p->contexts = rd_zalloc_array(a, p->context_count, sizeof *p->contexts);
    p->names = copy_array(x, g->names.item, g->names.count, 1);
    p->shapes = rd_alloc_array(a, p->slot_count, sizeof *p->shapes);
    p->base = rd_zalloc_array(a, p->slot_count, sizeof *p->base);
    p->exec_name = rd_strdup(a, g->name);
    if (tagged && !(p->tag = rd_alloc_array(a, nodes, sizeof *p->tag)))
        return 0;
    if (!p->node || !p->name || !p->places || !p->modes || !p->views || !p->param_at ||
        !p->chunks || !p->contexts || !p->names || !p->shapes || !p->base || !p->exec_name)
        return 0;
    fill_nodes(x, g);
    return 1;
}

static int copy_holders(struct rd_exec *x, const struct rd_subgraph *g)
{
    x->holder = rd_alloc_array(&x->rt->alloc, g->holders.count, sizeof *x->holder);
    if (!x->holder)
        return 0;
    x->holder_count = x->recorded_holders = g->holders.count;
    for (size_t i = 0; i < g->holders.count; i++) {
        x->holder[i] = g->holders.item[i];
        rd_add_relaxed(&x->holder[i]->refs, 1); /* the subgraph holds one */
        x->program.contexts[i + 1] = x->holder[i]->context;
    }
    return 1;
}

static int copy_groups(struct rd_exec *x, const struct rd_subgraph *g)
{
    x->groups = copy_array(x, g->groups.item, g->groups.count, sizeof *x->groups);
    x->group_count = x->groups ? g->groups.count : 0;
    return x->groups != NULL;
}

static int note_flags(struct rd_exec *x, const struct rd_subgraph *g)
{
    x->flags = rd_zalloc_array(&x->rt->alloc, x->nodes, sizeof *x->flags);
    for (uint32_t v = 0; x->flags && v < x->nodes; v++) {
        if (g->nodes.item[v].extra)
            x->flags[v] = rd_node_extra(g, v)->flags;
        if (g->nodes.item[v].kind != RD_NODE_TASK)
            x->flags[v] |= RD_NO_TASK;
    }
    return x->flags != NULL;
}

/* ---- slots and parameters */

static int copy_slot(struct rd_exec *x, const struct rd_slot *from, uint32_t s)
{
    struct rd_exec_slot *to = &x->slot[s];
    to->buffers = copy_array(x, from->buffers, from->count, sizeof *to->buffers);
    if (!to->buffers)
        return 0;
    to->name = from->name;
    to->kind = from->kind;
    to->memory = from->memory;
    to->alias = from->alias;
    to->count = from->count;
    to->ring_first = from->ring_first;
    to->ring_stride = from->ring_stride;
    to->bytes = from->bytes;
    x->program.shapes[s] = from->shape;
    x->slots = s + 1;
    for (uint32_t i = 0; i < to->count; i++)
        rd_buffer_ref(to->buffers[i]);
    to->origin = from->origin;
    if (to->kind == RD_SLOT_FIXED)
        x->program.base[s] = rd_buffer_base(to->buffers[0]);
    x->ring_slots += to->kind == RD_SLOT_RING;
    x->bound_slots += to->kind == RD_SLOT_BOUND;
    x->temporary_slots += to->kind == RD_SLOT_TEMPORARY;
    x->range_count += to->count;
    return 1;
}

/* The root of each slot's class of aliases, so that two slots are compared by one number. */
static void join_aliases(struct rd_exec *x)
{
    for (uint32_t s = 0; s < x->slots; s++) {
        uint32_t root = s;
        while (x->slot[root].alias != root)
            root = x->slot[root].alias; /* an alias names a slot made before it */
        x->slot[s].alias = root;
    }
}

static int copy_slots(struct rd_exec *x, const struct rd_subgraph *g)
{
    size_t at = 0;
    x->slot_room = g->slots.count;
    x->slot = rd_zalloc_array(&x->rt->alloc, g->slots.count, sizeof *x->slot);
    if (!x->slot)
        return 0;
    for (size_t s = 0; s < g->slots.count; s++)
        if (!copy_slot(x, &g->slots.item[s], (uint32_t)s))
            return 0;
    join_aliases(x);
    x->fixed_range = rd_alloc_array(&x->rt->alloc, 2 * x->range_count, sizeof *x->fixed_range);
    if (!x->fixed_range)
        return 0;
    for (uint32_t s = 0; s < x->slots; s++)
        for (uint32_t i = 0; i < x->slot[s].count; i++) {
            x->fixed_range[at++] = rd_buffer_address_of(x->slot[s].buffers[i]);
            x->fixed_range[at] = x->fixed_range[at - 1] + x->slot[s].bytes;
            at++;
        }
    return 1;
}

struct rd_sticky *rd_sticky_new(struct rd_exec *x)
{
    size_t bytes = sizeof(struct rd_sticky) + 64 + x->params_bytes + x->params;
    struct rd_sticky *s = rd_zalloc(&x->rt->alloc, bytes, 64);
    if (!s)
        return NULL;
    s->alloc = &x->rt->alloc;
    s->bytes = bytes;
    s->block = (char *)s + align64(sizeof *s);
    s->given = (uint8_t *)s->block + x->params_bytes;
    return s;
}

void rd_sticky_free(struct rd_garbage *garbage)
{
    struct rd_sticky *s = (struct rd_sticky *)garbage;
    rd_free(s->alloc, s, s->bytes);
}

static int copy_params(struct rd_exec *x, const struct rd_subgraph *g)
{
    struct rd_sticky *sticky;
    x->params = (uint32_t)g->params.count;
    x->param = rd_alloc_array(&x->rt->alloc, x->params, sizeof *x->param);
    if (!x->param)
        return 0;
    for (uint32_t i = 0; i < x->params; i++) {
        const struct rd_param *p = &g->params.item[i];
        x->param[i] = (struct rd_exec_param){ p->name, p->offset, p->bytes };
        if (p->offset + (size_t)p->bytes > x->params_bytes)
            x->params_bytes = align64(p->offset + (size_t)p->bytes);
    }
    sticky = rd_sticky_new(x);
    if (!sticky)
        return 0;
    for (uint32_t i = 0; i < x->params; i++) {
        const struct rd_param *p = &g->params.item[i];
        sticky->given[i] = p->has_initial ? RD_GIVEN_INITIALLY : 0;
        sticky->missing += !p->has_initial;
        if (p->has_initial)
            memcpy(sticky->block + p->offset, g->params_initial.item + p->offset, p->bytes);
    }
    rd_store_relaxed(&x->sticky, sticky); /* published with the exec's id */
    return 1;
}

/* ---- ops */

static void lower_plain(struct rd_exec *x, const struct rd_subgraph *g, const struct rd_node *n,
                        struct rd_op *op, size_t *at)
{
    const int member = rd_exec_is_member(x, op->node);
    op->fn = member ? rd_segment_member_run : n->fn;
    op->arg = NULL;
    if (member || !n->arg_bytes)
        return;
    *at = arg_at(*at, n->arg_bytes);
    op->arg = memcpy(x->args + *at, g->args.item + n->arg, n->arg_bytes);
    *at += n->arg_bytes;
}

/* Argument bytes lie in the order in which lanes come to them. What more than a plain function is
 * given is per track. */
rondo_status rd_exec_lower_ops(struct rd_exec *x, struct rd_subgraph *e, struct rd_core *c)
{
    struct rd_allocator *a = &x->rt->alloc;
    const struct rd_plan *plan = c->plan;
    size_t work = 0, at, work_at = 0, bytes;
    for (size_t i = 0; i < e->nodes.count; i++) {
        const struct rd_node *n = &e->nodes.item[plan->op[i].node];
        bytes = rd_node_work_bytes(x, e, plan->op[i].node);
        work += bytes;
        if (!bytes && n->arg_bytes && !rd_exec_is_member(x, plan->op[i].node))
            x->args_bytes = arg_at(x->args_bytes, n->arg_bytes) + n->arg_bytes;
    }
    x->work_bytes = work * x->tracks;
    x->args = rd_alloc(a, x->args_bytes, 64);
    x->work = rd_alloc(a, x->work_bytes, 64);
    if (!x->args || !x->work)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for the arguments of %zu nodes",
                        e->name, e->nodes.count);
    for (uint32_t k = 0; k < x->tracks; k++) {
        at = 0; /* the shared parts are written once per track, the same each time */
        for (size_t i = 0; i < e->nodes.count; i++) {
            struct rd_op *op = &c->track[k].op[i];
            bytes = rd_node_work_bytes(x, e, op->node);
            if (bytes)
                rd_node_work_fill(x, e, op, x->work + work_at);
            else
                lower_plain(x, e, &e->nodes.item[op->node], op, &at);
            work_at += bytes;
        }
    }
    rd_core_copy_variants(c);
    return RONDO_OK;
}

/* The only instance of each temporary, where replays do not overlap. */
static int make_temporaries(struct rd_exec *x)
{
    x->temporary = rd_zalloc_array(&x->rt->alloc, x->slots, sizeof *x->temporary);
    if (!x->temporary)
        return 0;
    for (uint32_t s = 0; s < x->slots; s++)
        if (x->slot[s].kind == RD_SLOT_TEMPORARY) {
            x->temporary[s] = rd_zalloc(&x->rt->alloc, x->slot[s].bytes, 64);
            if (!x->temporary[s])
                return 0;
            x->program.base[s] = rd_slot_base(x->temporary[s], x->slot[s].origin);
        }
    return 1;
}

static void free_temporaries(struct rd_exec *x)
{
    for (uint32_t s = 0; x->temporary && s < x->slots; s++)
        rd_free(&x->rt->alloc, x->temporary[s], x->slot[s].bytes);
    rd_free_array(&x->rt->alloc, x->temporary, x->slots, sizeof *x->temporary);
}

rondo_status rd_exec_lower(struct rd_exec *x, struct rd_subgraph *e)
{
    if (copy_program(x, e) && copy_holders(x, e) && copy_groups(x, e) && note_flags(x, e) &&
        copy_slots(x, e) && copy_params(x, e) && rd_exec_parts_make(&x->rt->alloc, e, &x->parts) &&
        (!x->temporary_slots || x->order != RONDO_SERIAL || make_temporaries(x)))
        return rd_exec_lower_traits(x, e);
    return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for %zu nodes", e->name,
                    e->nodes.count);
}

void rd_exec_unlower(struct rd_exec *x)
{
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_program *p = &x->program;
    size_t nodes = p->nodes;
    struct rd_sticky *sticky = rd_load_relaxed(&x->sticky);
    if (sticky)
        rd_sticky_free(&sticky->garbage);
    free_temporaries(x);
    rd_free(a, x->args, x->args_bytes);
    rd_free(a, x->work, x->work_bytes);
    rd_exec_unlower_traits(x);
    rd_exec_parts_free(a, &x->parts);
    rd_free_array(a, x->param, x->params, sizeof *x->param);
    for (uint32_t s = 0; s < x->slots; s++) {
        for (uint32_t i = 0; i < x->slot[s].count; i++)
            rd_buffer_unref(x->slot[s].buffers[i]);
        rd_free_array(a, x->slot[s].buffers, x->slot[s].count, sizeof *x->slot[s].buffers);
    }
    rd_free_array(a, x->slot, x->slot_room, sizeof *x->slot);
    rd_free_array(a, x->fixed_range, 2 * x->range_count, sizeof *x->fixed_range);
    rd_free_array(a, x->groups, x->group_count, sizeof *x->groups);
    for (size_t i = 0; i < x->holder_count; i++)
        rd_holder_unref(a, x->holder[i]);
    rd_free_array(a, x->holder, x->holder_count, sizeof *x->holder);
    rd_exec_free_retasked(x);
    rd_kernel_forms_free(&x->kernel_forms);
    rd_free_array(a, x->flags, x->nodes, sizeof *x->flags);
    rd_free_array(a, p->node, nodes + 1, sizeof *p->node);
    rd_free_array(a, p->name, nodes, sizeof *p->name);
    rd_free_array(a, p->places, p->place_count, sizeof *p->places);
    rd_free_array(a, p->modes, p->place_count, 1);
    rd_free_array(a, p->views, p->place_count, sizeof *p->views);
    rd_free_array(a, p->param_at, p->param_count, sizeof *p->param_at);
    rd_free_array(a, p->chunks, p->chunk_count, sizeof *p->chunks);
    rd_free_array(a, p->contexts, p->context_count, sizeof *p->contexts);
    rd_free_array(a, p->names, p->names_bytes, 1);
    rd_free_array(a, p->shapes, p->slot_count, sizeof *p->shapes);
    rd_free_array(a, p->base, p->slot_count, sizeof *p->base);
    rd_free_array(a, p->tag, nodes, sizeof *p->tag);
    if (p->exec_name)
        rd_free(a, p->exec_name, strlen(p->exec_name) + 1);
}
