/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording nodes that wait for a counter or an event, and nodes that raise a counter. */
#include "subgraph/record.h"

#include "src/event/counter.h"

#include <stdio.h>
#include <string.h>

static rondo_status take_event(const struct rd_subgraph *g, const rondo_sync_desc *d, uint32_t name,
                               struct rd_sync *s)
{
    const char *text = rd_subgraph_text(g, name);
    const struct rd_param *p;
    rondo_status status;
    if (d->first || d->step)
        return rd_error(RONDO_ERR_INVALID, "node '%s': first %llu and step %llu with an event",
                        text, (unsigned long long)d->first, (unsigned long long)d->step);
    status = rd_take_param(g, name, "event", d->event, &s->event);
    if (status)
        return status;
    p = &g->params.item[s->event];
    if (p->bytes != sizeof(rondo_event))
        return rd_error(RONDO_ERR_INVALID,
                        "node '%s': event: parameter '%s' has %u bytes, a rondo_event %zu", text,
                        rd_subgraph_text(g, p->name), p->bytes, sizeof(rondo_event));
    return RONDO_OK;
}

static rondo_status take_counter(const struct rd_subgraph *g, const rondo_sync_desc *d,
                                 uint32_t name, struct rd_sync *s)
{
    const char *text = rd_subgraph_text(g, name);
    char detail[RD_MESSAGE_BYTES];
    rondo_status status;
    s->counter = rd_counter_get(d->counter, &status);
    if (!s->counter) {
        snprintf(detail, sizeof detail, "%s", rd_error_text());
        return rd_error(status, "node '%s': %s", text, detail);
    }
    s->first = d->first;
    s->step = d->step;
    if (s->counter->rt == g->rt)
        return RONDO_OK;
    rd_counter_unref(s->counter);
    return rd_error(RONDO_ERR_INVALID, "node '%s': counter: 0x%llx is of another runtime", text,
                    (unsigned long long)d->counter.id);
}

static rondo_status take_sync(struct rd_subgraph *g, enum rd_node_kind kind,
                              const rondo_sync_desc *d, uint32_t name, uint32_t *sync)
{
    const char *text = rd_subgraph_text(g, name);
    struct rd_sync s;
    rondo_status status;
    memset(&s, 0, sizeof s);
    if (kind == RD_NODE_SIGNAL && d->event.id)
        return rd_error(RONDO_ERR_INVALID, "node '%s': a signal with an event", text);
    if (d->event.id && d->counter.id)
        return rd_error(RONDO_ERR_INVALID, "node '%s': both a counter and an event", text);
    if (g->syncs.count >= UINT32_MAX || !RD_ROOM(g, syncs, 1))
        return rd_no_memory(g);
    status = d->event.id ? take_event(g, d, name, &s) : take_counter(g, d, name, &s);
    if (status)
        return status;
    g->syncs.item[g->syncs.count++] = s;
    *sync = (uint32_t)g->syncs.count;
    return RONDO_OK;
}

rondo_status rd_record_sync(struct rd_subgraph *g, enum rd_node_kind kind,
                            const rondo_sync_desc *desc, rondo_node *node)
{
    struct rd_mark mark;
    struct rd_node n;
    struct rd_extra extra;
    rondo_status status;
    memset(&n, 0, sizeof n);
    memset(&extra, 0, sizeof extra);
    n.kind = (uint8_t)kind;
    n.tag = desc->tag;
    n.priority = desc->priority;
    n.bound = RD_PROCESSOR_ANY;
    rd_mark_take(g, &mark);
    status = rd_name_add(g,
                         desc->name             ? desc->name
                         : kind == RD_NODE_WAIT ? "wait"
                                                : "signal",
                         &n.name);
    if (!status)
        status = take_sync(g, kind, desc, n.name, &extra.sync);
    if (!status)
        status = rd_take_when(g, n.name, &desc->when, &extra);
    if (!status)
        status = rd_extra_add(g, &extra, &n.extra);
    if (!status)
        status = rd_take_flag(g, &desc->when, &n);
    if (!status && (desc->after_count || desc->after))
        status = rd_take_edges(g, n.name, "after", desc->after, desc->after_count, 0,
                               (uint32_t)g->nodes.count, 1);
    return rd_node_finish(g, &mark, status, &n, node);
}
