/* SPDX-License-Identifier: BSD-3-Clause */
/* What few nodes have, kept apart from the nodes: how a task runs, and the conditions under which a
 * node runs at all. */
#include "subgraph/record.h"

#include <string.h>

enum {
    FLAGS = RONDO_HOSTED | RONDO_SPMD | RONDO_DETACHED | RONDO_MAY_STOP | RONDO_MAY_BLOCK |
            RONDO_NO_ACCESS,
    TEAM = RONDO_HOSTED | RONDO_SPMD,
    FLAG_BYTES = 4 /* of an int32_t */
};

static int both(uint32_t flags, uint32_t a, uint32_t b) { return flags & a && flags & b; }

static rondo_status check_flags(const char *text, uint32_t flags)
{
    if (flags & ~(uint32_t)FLAGS)
        return rd_error(RONDO_ERR_INVALID, "node '%s': flags 0x%x: unknown bits", text, flags);
    if (both(flags, RONDO_HOSTED, RONDO_SPMD))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': flags 0x%x: RONDO_HOSTED and RONDO_SPMD exclude each other",
                        text, flags);
    if (both(flags, RONDO_DETACHED, TEAM | RONDO_MAY_BLOCK))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': flags 0x%x: RONDO_DETACHED excludes RONDO_HOSTED, RONDO_SPMD "
                        "and RONDO_MAY_BLOCK",
                        text, flags);
    if (both(flags, RONDO_MAY_BLOCK, TEAM))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': flags 0x%x: RONDO_MAY_BLOCK excludes RONDO_HOSTED and "
                        "RONDO_SPMD",
                        text, flags);
    return RONDO_OK;
}

rondo_status rd_check_traits(const struct rd_subgraph *g, const rondo_task_desc *d, uint32_t name)
{
    const char *text = rd_subgraph_text(g, name);
    rondo_status status = check_flags(text, d->flags);
    if (status)
        return status;
    if (d->flags & RONDO_MAY_BLOCK && d->on != RONDO_ANY_CPU)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': on is 0x%x, but with RONDO_MAY_BLOCK it runs on a thread of "
                        "its own",
                        text, d->on);
    if (d->team && !(d->flags & TEAM))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': team is %u without RONDO_HOSTED or RONDO_SPMD", text, d->team);
    if (d->stop_lag && !(d->flags & RONDO_MAY_STOP))
        return rd_error(RONDO_ERR_INVALID, "node '%s': stop_lag is %u without RONDO_MAY_STOP", text,
                        d->stop_lag);
    if (d->stop_lag >= RD_DISTANCE_MAX)
        return rd_error(RONDO_ERR_INVALID, "node '%s': stop_lag %u is more than %d", text,
                        d->stop_lag, RD_DISTANCE_MAX - 1);
    return RONDO_OK;
}

/* ---- conditions */

static rondo_status when_param(const struct rd_subgraph *g, uint32_t name, const rondo_when *when,
                               struct rd_when *w)
{
    uint32_t index;
    rondo_status status;
    if (!when->param.id)
        return RONDO_OK;
    status = rd_take_param(g, name, "when.param", when->param, &index);
    w->param = status ? 0 : index + 1;
    return status;
}

static rondo_status when_flag(const struct rd_subgraph *g, const char *text, const rondo_when *when,
                              struct rd_when *w)
{
    const struct rd_slot *s;
    uint32_t index;
    if (!when->flag.id)
        return RONDO_OK;
    if (!rd_part_is(g, when->flag.id, RD_PART_SLOT, g->slots.count, &index))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': when.flag: handle 0x%llx is no slot of subgraph '%s'", text,
                        (unsigned long long)when->flag.id, g->name);
    s = &g->slots.item[index];
    if (s->kind == RD_SLOT_TOKEN)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': when.flag: slot '%s' is a token, without "
                        "memory to read",
                        text, rd_subgraph_text(g, s->name));
    if (s->shape.elem_bytes < FLAG_BYTES)
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': when.flag: slot '%s' has elements of %zu bytes, an int32_t "
                        "has %d",
                        text, rd_subgraph_text(g, s->name), s->shape.elem_bytes, FLAG_BYTES);
    w->flag = index + 1;
    return RONDO_OK;
}

/* The last condition again, or a new one. */
static rondo_status add_when(struct rd_subgraph *g, const struct rd_when *w, struct rd_extra *e)
{
    size_t n = g->whens.count;
    e->when_count = 1;
    if (n && !memcmp(&g->whens.item[n - 1], w, sizeof *w)) {
        e->when = (uint32_t)n - 1;
        return RONDO_OK;
    }
    if (n >= UINT32_MAX || !RD_ROOM(g, whens, 1))
        return rd_no_memory(g);
    e->when = (uint32_t)n;
    g->whens.item[g->whens.count++] = *w;
    return RONDO_OK;
}

rondo_status rd_check_when(const struct rd_subgraph *g, uint32_t name, const rondo_when *when,
                           struct rd_when *w)
{
    const char *text = rd_subgraph_text(g, name);
    rondo_status status;
    memset(w, 0, sizeof *w);
    if (when->every ? when->phase >= when->every : when->phase != 0)
        return rd_error(RONDO_ERR_INVALID, "node '%s': when.phase is %u, when.every %u", text,
                        when->phase, when->every);
    status = when_param(g, name, when, w);
    if (!status)
        status = when_flag(g, text, when, w);
    if (when->every > 1) {
        w->every = when->every;
        w->phase = when->phase;
    }
    return status;
}

rondo_status rd_take_when(struct rd_subgraph *g, uint32_t name, const rondo_when *when,
                          struct rd_extra *e)
{
    struct rd_when w;
    rondo_status status = rd_check_when(g, name, when, &w);
    if (status || (!w.param && !w.flag && !w.every))
        return status;
    return add_when(g, &w, e);
}

rondo_status rd_flag_access(struct rd_subgraph *g, uint32_t slot, struct rd_node *n)
{
    static const rd_box first = { { 0, 0, 0 }, { 1, 1, 1 } };
    struct rd_access *a;
    if (g->accesses.count >= UINT32_MAX || g->boxes.count >= UINT32_MAX ||
        !RD_ROOM(g, accesses, 1) || !RD_ROOM(g, boxes, 1))
        return rd_no_memory(g);
    if (!n->access_count)
        n->access = (uint32_t)g->accesses.count;
    n->access_count++;
    a = &g->accesses.item[g->accesses.count++];
    memset(a, 0, sizeof *a);
    a->slot = slot;
    a->mode = RONDO_READ;
    a->box = (uint32_t)g->boxes.count;
    g->boxes.item[g->boxes.count++] = first;
    return RONDO_OK;
}

rondo_status rd_take_flag(struct rd_subgraph *g, const rondo_when *when, struct rd_node *n)
{
    uint32_t slot;
    if (!when->flag.id || !rd_part_is(g, when->flag.id, RD_PART_SLOT, g->slots.count, &slot))
        return RONDO_OK;
    return rd_flag_access(g, slot, n);
}

/* ---- the record of both */

void rd_take_traits(const rondo_task_desc *d, struct rd_extra *e)
{
    e->flags = (uint8_t)(d->flags & ~(uint32_t)RONDO_NO_ACCESS);
    e->team = d->team;
    e->stop_lag = d->stop_lag;
}

rondo_status rd_extra_add(struct rd_subgraph *g, const struct rd_extra *e, uint32_t *extra)
{
    static const struct rd_extra none;
    size_t n = g->extras.count;
    *extra = 0;
    if (!memcmp(e, &none, sizeof none))
        return RONDO_OK;
    if (n && !memcmp(&g->extras.item[n - 1], e, sizeof *e)) {
        *extra = (uint32_t)n;
        return RONDO_OK;
    }
    if (n >= UINT32_MAX || !RD_ROOM(g, extras, 1))
        return rd_no_memory(g);
    memcpy(&g->extras.item[g->extras.count++], e, sizeof *e); /* with its padding, for memcmp */
    *extra = (uint32_t)g->extras.count;
    return RONDO_OK;
}
