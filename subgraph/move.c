/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills: recording them, and the tasks that do them. */
#include "subgraph/bytes.h"
#include "subgraph/record.h"

#include <stdio.h>
#include <string.h>

/* ---- the tasks */

int rd_move_counts_fit(const int64_t *count, uint32_t values, const int64_t most[3], char *why,
                       size_t why_bytes)
{
    uint32_t d;
    for (d = 0; d < values; d++)
        if (count[d] < 0 || count[d] > most[d]) {
            snprintf(why, why_bytes, "count[%u] is %lld, the region holds %lld", d,
                     (long long)count[d], (long long)most[d]);
            return 0;
        }
    return 1;
}

/* How many elements to move, by dimension; 0 after rondo_task_fail. */
static int move_count(rondo_task *self, const struct rd_move *m, int64_t count[3])
{
    uint32_t d;
    char why[128];
    for (d = 0; d < 3; d++)
        count[d] = m->count[d];
    if (!m->count_values)
        return 1;
    memcpy(count, rondo_task_param(self, 0), m->count_values * sizeof *count);
    if (rd_move_counts_fit(count, m->count_values, m->count, why, sizeof why))
        return 1;
    rondo_task_fail(self, why);
    return 0;
}

int rd_move_copy(rondo_task *self, const void *arg)
{
    const struct rd_move *m = arg;
    const char *from = (const char *)rondo_task_read(self, 0) + m->from;
    char *to = (char *)rondo_task_write(self, 1) + m->to;
    int64_t count[3], y, z;
    size_t row, rows = 1, planes = 1;
    if (!move_count(self, m, count))
        return 1;
    row = (size_t)count[0] * m->elem_bytes;
    rows = (size_t)count[1];
    planes = (size_t)count[2];
    /* What is dense on both sides is one longer row. */
    if (row == m->from_pitch[0] && row == m->to_pitch[0]) {
        row *= rows;
        rows = 1;
        if (row == m->from_pitch[1] && row == m->to_pitch[1]) {
            row *= planes;
            planes = 1;
        }
    }
    /* memmove: slots declared as aliases may be bound to bytes that overlap. */
    for (z = 0; z < (int64_t)planes; z++)
        for (y = 0; y < (int64_t)rows; y++)
            memmove(to + (size_t)z * m->to_pitch[1] + (size_t)y * m->to_pitch[0],
                    from + (size_t)z * m->from_pitch[1] + (size_t)y * m->from_pitch[0], row);
    return 0;
}

/* Fills bytes with copies of a value, doubling what is there. */
static void fill_row(char *to, size_t bytes, const char *value, size_t value_bytes)
{
    size_t done = value_bytes, more;
    if (!bytes)
        return;
    if (value_bytes == 1) {
        memset(to, *value, bytes);
        return;
    }
    memcpy(to, value, value_bytes);
    for (; done < bytes; done += more) {
        more = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, more);
    }
}

int rd_move_fill(rondo_task *self, const void *arg)
{
    const struct rd_move *m = arg;
    const char *value = (const char *)(m + 1);
    char *to = (char *)rondo_task_write(self, 0) + m->to;
    int64_t count[3], y, z;
    size_t row;
    if (!move_count(self, m, count))
        return 1;
    row = (size_t)count[0] * m->elem_bytes;
    if (!row || !count[1] || !count[2])
        return 0;
    fill_row(to, row, value, m->value_bytes);
    for (z = 0; z < count[2]; z++)
        for (y = 0; y < count[1]; y++)
            if (y || z)
                memcpy(to + (size_t)z * m->to_pitch[1] + (size_t)y * m->to_pitch[0], to, row);
    return 0;
}

int rd_move_none(rondo_task *self, const void *arg)
{
    int64_t count[3];
    return !move_count(self, arg, count);
}

/* ---- recording */

static const char *const kind_names[] = {
    [RD_NODE_COPY] = "copy", [RD_NODE_FILL] = "fill", [RD_NODE_ALLREDUCE] = "allreduce"
};

static rondo_status check_side(const struct rd_subgraph *g, const rondo_access *a, uint32_t name,
                               const char *field, uint32_t mode)
{
    const char *text = rd_subgraph_text(g, name);
    uint32_t slot;
    if (rd_part_is(g, a->slot.id, RD_PART_SLOT, g->slots.count, &slot) &&
        g->slots.item[slot].kind == RD_SLOT_TOKEN)
        return rd_error(RONDO_ERR_INVALID, "node '%s': %s: slot '%s' is a token, without memory",
                        text, field, rd_subgraph_text(g, g->slots.item[slot].name));
    if (a->mode && a->mode != mode)
        return rd_error(RONDO_ERR_INVALID, "node '%s': %s: mode is %u", text, field, a->mode);
    if (a->halo[0] || a->halo[1] || a->halo[2])
        return rd_error(RONDO_ERR_INVALID, "node '%s': %s: halo %d, %d, %d of a copy or fill", text,
                        field, a->halo[0], a->halo[1], a->halo[2]);
    return RONDO_OK;
}

static rondo_status take_side(struct rd_subgraph *g, const rondo_access *in, uint32_t name,
                              const char *field, uint32_t mode)
{
    struct rd_site site = { name, field, 0 };
    rondo_access a = *in;
    rondo_status status = check_side(g, in, name, field, mode);
    if (status)
        return status;
    a.mode = (uint8_t)mode;
    return rd_access_add(g, &site, &a, NULL);
}

static size_t box_offset(const rondo_shape *s, const rd_box *b)
{
    return (size_t)b->first[0] * s->elem_bytes + (size_t)b->first[1] * s->pitch_bytes[0] +
           (size_t)b->first[2] * s->pitch_bytes[1];
}

/* Both sides' counts and element sizes are equal and their bytes apart, as far as recording can
 * tell: what is bound per replay is checked there. */
rondo_status rd_check_copy(const struct rd_subgraph *g, uint32_t name, const struct rd_access *from,
                           const struct rd_access *to)
{
    const struct rd_slot *fs = &g->slots.item[from->slot], *ts = &g->slots.item[to->slot];
    const rd_box *f = &g->boxes.item[from->box], *t = &g->boxes.item[to->box];
    const char *text = rd_subgraph_text(g, name);
    int d;
    if (fs->shape.elem_bytes != ts->shape.elem_bytes)
        return rd_error(
            RONDO_ERR_INVALID,
            "node '%s': from slot '%s' with elements of %zu bytes to slot '%s' with %zu", text,
            rd_subgraph_text(g, fs->name), fs->shape.elem_bytes, rd_subgraph_text(g, ts->name),
            ts->shape.elem_bytes);
    for (d = 0; d < 3; d++)
        if (f->count[d] != t->count[d])
            return rd_error(RONDO_ERR_INVALID,
                            "node '%s': from holds %lld elements in dimension %d, to holds %lld",
                            text, (long long)f->count[d], d, (long long)t->count[d]);
    if (rd_slots_overlap(g, from->slot, f, to->slot, t))
        return rd_error(RONDO_ERR_INVALID, "node '%s': from (slot '%s') and to (slot '%s') overlap",
                        text, rd_subgraph_text(g, fs->name), rd_subgraph_text(g, ts->name));
    return RONDO_OK;
}

static rondo_status take_count(struct rd_subgraph *g, const rondo_move_desc *d, struct rd_node *n,
                               struct rd_move *m)
{
    const struct rd_param *p;
    uint32_t index;
    const char *text = rd_subgraph_text(g, n->name);
    rondo_status status;
    if (!d->count.id)
        return RONDO_OK;
    status = rd_take_param(g, n->name, "count", d->count, &index);
    if (status)
        return status;
    p = &g->params.item[index];
    if (p->bytes != 8 && p->bytes != 16 && p->bytes != 24)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': count: parameter '%s' has %u bytes, not 8, 16 or 24", text,
                        rd_subgraph_text(g, p->name), p->bytes);
    if (g->param_uses.count >= UINT32_MAX || !RD_ROOM(g, param_uses, 1))
        return rd_no_memory(g);
    n->param = (uint32_t)g->param_uses.count;
    n->param_count = 1;
    g->param_uses.item[g->param_uses.count++] = index;
    m->count_values = p->bytes / 8;
    return RONDO_OK;
}

static rondo_status take_value(struct rd_subgraph *g, enum rd_node_kind kind,
                               const rondo_move_desc *d, uint32_t name, struct rd_move *m)
{
    const char *text = rd_subgraph_text(g, name);
    if (kind != RD_NODE_FILL) {
        if (d->value || d->value_bytes)
            return rd_error(RONDO_ERR_INVALID, "node '%s': %s with a value", text,
                            kind == RD_NODE_COPY ? "a copy" : "an allreduce");
        return RONDO_OK;
    }
    if (!d->value)
        return rd_error(RONDO_ERR_INVALID, "node '%s': value is NULL", text);
    if (d->value_bytes != m->elem_bytes)
        return rd_error(
            RONDO_ERR_INVALID, "node '%s': value_bytes is %zu, an element of slot '%s' has %zu",
            text, d->value_bytes,
            rd_subgraph_text(g, g->slots.item[g->accesses.item[g->accesses.count - 1].slot].name),
            m->elem_bytes);
    if (d->value_bytes > UINT32_MAX - sizeof *m)
        return rd_error(RONDO_ERR_INVALID, "node '%s': value_bytes %zu is too much", text,
                        d->value_bytes);
    m->value_bytes = (uint32_t)d->value_bytes;
    return RONDO_OK;
}

/* The node's accesses: `from` and `to` of a copy, `to` of a fill, `from` of what is in place. */
static rondo_status take_accesses(struct rd_subgraph *g, enum rd_node_kind kind,
                                  const rondo_move_desc *d, struct rd_node *n)
{
    int in_place = kind == RD_NODE_ALLREDUCE && !d->to.slot.id;
    rondo_status status = RONDO_OK;
    n->access = (uint32_t)g->accesses.count;
    if (kind != RD_NODE_FILL)
        status = take_side(g, &d->from, n->name, "from", in_place ? RONDO_READ_WRITE : RONDO_READ);
    else if (d->from.slot.id)
        status = rd_error(RONDO_ERR_INVALID, "node '%s': a fill with `from`",
                          rd_subgraph_text(g, n->name));
    if (!status && !in_place)
        status = take_side(g, &d->to, n->name, "to", RONDO_WRITE);
    n->access_count = (uint32_t)g->accesses.count - n->access;
    if (!status && n->access_count == 2)
        status = rd_check_copy(g, n->name, &g->accesses.item[n->access],
                               &g->accesses.item[n->access + 1]);
    if (in_place)
        n->fn = rd_move_none;
    return status;
}

static rondo_status take_sides(struct rd_subgraph *g, enum rd_node_kind kind,
                               const rondo_move_desc *d, struct rd_node *n, struct rd_move *m)
{
    const struct rd_access *from, *to;
    const rondo_shape *shape;
    rondo_status status = take_accesses(g, kind, d, n);
    if (status)
        return status;
    from = &g->accesses.item[n->access];
    to = from + n->access_count - 1;
    shape = &g->slots.item[from->slot].shape;
    memcpy(m->from_pitch, shape->pitch_bytes, sizeof m->from_pitch);
    m->from = box_offset(shape, &g->boxes.item[from->box]);
    shape = &g->slots.item[to->slot].shape;
    memcpy(m->to_pitch, shape->pitch_bytes, sizeof m->to_pitch);
    m->to = box_offset(shape, &g->boxes.item[to->box]);
    m->elem_bytes = shape->elem_bytes;
    memcpy(m->count, g->boxes.item[to->box].count, sizeof m->count);
    return RONDO_OK;
}

/* `type` and `op`: of an allreduce, and of nothing else. */
static rondo_status take_reduction(struct rd_subgraph *g, enum rd_node_kind kind,
                                   const rondo_move_desc *d, const struct rd_node *n)
{
    const char *text = rd_subgraph_text(g, n->name);
    struct rd_access *first = &g->accesses.item[n->access];
    char who[RD_MESSAGE_BYTES];
    rondo_status status;
    if (kind != RD_NODE_ALLREDUCE && (d->type || d->op))
        return rd_error(RONDO_ERR_INVALID, "node '%s': type %u and op %u of a %s", text, d->type,
                        d->op, kind_names[kind]);
    if (kind != RD_NODE_ALLREDUCE)
        return RONDO_OK;
    snprintf(who, sizeof who, "node '%.100s'", text);
    status = rd_check_reduction(who, &g->slots.item[first->slot], d->type, d->op);
    if (status)
        return status;
    first->type = d->type;
    first->op = d->op;
    return RONDO_OK;
}

/* The task's argument: the move, and behind it the value. */
static rondo_status take_move_arg(struct rd_subgraph *g, const struct rd_move *m, const void *value,
                                  struct rd_node *n)
{
    rondo_status status;
    n->arg_bytes = (uint32_t)sizeof *m + m->value_bytes;
    status = rd_take_arg(g, m, sizeof *m, &n->arg);
    if (status || !m->value_bytes)
        return status;
    if (!RD_ROOM(g, args, m->value_bytes))
        return rd_no_memory(g);
    memcpy(g->args.item + g->args.count, value, m->value_bytes);
    g->args.count += m->value_bytes;
    return RONDO_OK;
}

static rondo_status fill_move(struct rd_subgraph *g, enum rd_node_kind kind,
                              const rondo_move_desc *d, struct rd_node *n)
{
    struct rd_move m;
    struct rd_extra extra;
    rondo_status status;
    memset(&m, 0, sizeof m);
    memset(&extra, 0, sizeof extra);
    status = take_sides(g, kind, d, n, &m);
    if (!status)
        status = take_reduction(g, kind, d, n);
    if (!status)
        status = take_value(g, kind, d, n->name, &m);
    if (!status)
        status = take_count(g, d, n, &m);
    if (!status)
        status = kind == RD_NODE_ALLREDUCE ? rd_take_processor(g, n->name, d->on, &n->bound)
                                           : rd_take_place(g, n->name, d->on, 0, &n->bound);
    if (!status)
        status = rd_take_cost(g, n->name, d->cost_ns, &n->cost_ns);
    if (!status)
        status = take_move_arg(g, &m, d->value, n);
    if (!status)
        status = rd_take_when(g, n->name, &d->when, &extra);
    if (!status)
        status = rd_extra_add(g, &extra, &n->extra);
    if (!status)
        status = rd_take_flag(g, &d->when, n);
    if (!status && (d->after_count || d->after))
        status = rd_take_edges(g, n->name, "after", d->after, d->after_count, 0,
                               (uint32_t)g->nodes.count, 1);
    return status;
}

rondo_status rd_record_move(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_move_desc *desc, rondo_node *node)
{
    struct rd_mark mark;
    struct rd_node n;
    rondo_status status;
    memset(&n, 0, sizeof n);
    n.fn = kind == RD_NODE_FILL ? rd_move_fill : rd_move_copy;
    n.kind = (uint8_t)kind;
    n.tag = desc->tag;
    n.priority = desc->priority;
    rd_mark_take(g, &mark);
    status = rd_name_add(g, desc->name ? desc->name : kind_names[kind], &n.name);
    if (!status)
        status = fill_move(g, kind, desc, &n);
    return rd_node_finish(g, &mark, status, &n, node);
}
