/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends what an exec has on devices. */
#include "src/exec/device.h"

#include "compile/compile.h"
#include "subgraph/expand.h"

#include <stdio.h>
#include <string.h>

static rondo_status no_memory(const struct rd_subgraph *e)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for its nodes on devices", e->name);
}

/* ---- which devices */

/* All of them are there: rd_check_devices. */
static rondo_status find_places(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_exec_devices *d = x->devices;
    const uint32_t count = x->rt->devices->count;
    uint8_t used[RD_DEVICES_MAX] = { 0 };
    for (size_t v = 0; v < e->nodes.count; v++) {
        const uint16_t bound = e->nodes.item[v].bound;
        if (rd_bound_is_device(bound))
            used[bound - RD_ON_DEVICE] = 1;
    }
    d->place = rd_zalloc_array(&x->rt->alloc, count, sizeof *d->place);
    if (!d->place)
        return no_memory(e);
    for (uint32_t i = 0; i < count; i++)
        if (used[i]) {
            d->place[d->places].queue.device = &x->rt->devices->device[i];
            d->place_of[i] = (uint8_t)++d->places;
        }
    x->device_processors = 2 * d->places;
    return RONDO_OK;
}

int rd_exec_any_on_device(const struct rd_subgraph *e)
{
    for (size_t v = 0; v < e->nodes.count; v++)
        if (rd_bound_is_device(e->nodes.item[v].bound))
            return 1;
    return 0;
}

rondo_status rd_exec_devices_begin(struct rd_exec *x, struct rd_subgraph *e,
                                   struct rd_subgraph **changed)
{
    rondo_status status;
    *changed = NULL;
    if (!rd_exec_any_on_device(e))
        return RONDO_OK;
    x->devices = rd_zalloc_array(&x->rt->alloc, 1, sizeof *x->devices);
    if (!x->devices)
        return no_memory(e);
    x->devices->pool.a = &x->rt->alloc;
    status = rd_exec_devices_place(x, e, changed);
    /* Copies that it adds may be on devices that no recorded node is on. */
    return status ? status : find_places(x, *changed ? *changed : e);
}

/* ---- segments */

/* The node that a segment is called after: its first, of those that were recorded if there are
 * any. */
static uint32_t lead_of(const struct rd_exec *x, uint32_t segment)
{
    const struct rd_segments *s = x->devices->plan;
    const struct rd_segment_plan *plan = &s->segment[segment];
    for (uint32_t i = 0; i < plan->count; i++)
        if (s->member[plan->first + i] < x->nodes)
            return s->member[plan->first + i];
    return s->member[plan->first];
}

/* "submit 'pack' + 7". */
static rondo_status add_node(struct rd_exec *x, struct rd_subgraph *e, uint32_t segment,
                             enum rd_node_kind kind)
{
    const struct rd_segments *s = x->devices->plan;
    const struct rd_segment_plan *plan = &s->segment[segment];
    const struct rd_node *first = &e->nodes.item[lead_of(x, segment)];
    struct rd_node n = { .kind = (uint8_t)kind,
                         .bound = first->bound,
                         .priority = first->priority };
    char text[96], more[24] = "";
    uint64_t cost = 0;
    uint32_t index;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct rd_node *m = &e->nodes.item[s->member[plan->first + i]];
        cost += kind == RD_NODE_SUBMIT ? RD_ENQUEUE_NS
                : m->cost_ns           ? m->cost_ns
                                       : RD_UNKNOWN_COST_NS;
        if (m->priority > n.priority)
            n.priority = m->priority;
    }
    n.cost_ns = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
    if (plan->count > 1)
        snprintf(more, sizeof more, " + %u", plan->count - 1);
    snprintf(text, sizeof text, "%s '%.48s'%s", kind == RD_NODE_SUBMIT ? "submit" : "settle",
             rd_subgraph_text(e, first->name), more);
    if (rd_name_add(e, text, &n.name) || rd_node_add(e, &n, &index))
        return RONDO_ERR_MEMORY;
    return RONDO_OK;
}

rondo_status rd_exec_devices_cut(struct rd_exec *x, struct rd_subgraph *e)
{
    struct rd_exec_devices *d = x->devices;
    struct rd_allocator *a = &x->rt->alloc;
    struct rd_graph cut;
    rondo_status status;
    if (!d)
        return RONDO_OK;
    status = rd_segments(a, e, &x->recipe.graph, RD_SUBMIT_NS, &d->plan, &cut);
    if (status)
        return status;
    rd_graph_free(a, &x->recipe.graph);
    x->recipe.graph = cut;
    d->nodes = (uint32_t)e->nodes.count;
    rd_free_array(a, e->sequence, d->nodes, sizeof *e->sequence); /* the graph has what it said */
    e->sequence = NULL;
    for (uint32_t i = 0; i < d->plan->segments && !status; i++) {
        status = add_node(x, e, i, RD_NODE_SUBMIT);
        if (!status)
            status = add_node(x, e, i, RD_NODE_SETTLE);
    }
    return status ? no_memory(e) : RONDO_OK;
}

/* ---- queues, kernels, segments */

static rondo_status make_queue(struct rd_exec *x, struct rd_exec_place *p)
{
    struct rd_segment_queue *q = &p->queue;
    q->progress.source = rd_runtime_source(x->rt);
    if (!q->progress.source)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for a device's queue",
                        x->program.exec_name);
    pthread_mutex_init(&q->lock, NULL);
    return q->device->ops->queue_new(q->device->backend, q->device->index, &q->progress, &q->queue);
}

static void describe_run(const struct rd_exec *x, struct rd_segment_run *r)
{
    const char *first = rd_program_name(&x->program, r->lead);
    if (r->members > 1)
        snprintf(r->text, sizeof r->text, "the segment of '%.48s' and %u more", first,
                 r->members - 1);
    else
        snprintf(r->text, sizeof r->text, "the segment of '%.48s'", first);
}

/* Of one node alone nothing can be told apart from the segment, so its name goes before. */
static rondo_status name_segment(const struct rd_exec *x, const struct rd_segment_run *r,
                                 rondo_status status)
{
    char why[RD_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", rd_error_text());
    return rd_error(status, "exec '%s': %s: %.350s", x->program.exec_name, r->text, why);
}

static rondo_status make_segment(struct rd_exec *x, const struct rd_subgraph *e, uint32_t segment)
{
    struct rd_exec_devices *d = x->devices;
    const struct rd_segment_plan *plan = &d->plan->segment[segment];
    struct rd_segment_run *r = &d->run[segment];
    struct rd_command *c = rd_scratch_zeroed(&d->pool, plan->count, sizeof *c);
    const uint32_t frames = rd_core_frames(x->window);
    rondo_status status = RONDO_OK;
    r->queue = &d->place[d->place_of[plan->device] - 1].queue;
    r->settle_pend = x->program.pend_of[plan->settle];
    r->member = rd_scratch_zeroed(&d->pool, plan->count, sizeof *r->member);
    r->skip = rd_scratch_zeroed(&d->pool, (size_t)plan->count * frames, 1);
    r->times = rd_scratch_zeroed(&d->pool, plan->count, sizeof *r->times);
    if (!c || !r->member || !r->skip || !r->times)
        return no_memory(e);
    for (uint32_t i = 0; i < plan->count && !status; i++) {
        const uint32_t *dep = &d->plan->dep_first[plan->first + i];
        c[i].after = d->plan->dep + dep[0];
        c[i].after_count = dep[1] - dep[0];
        status = rd_exec_command(x, e, d->plan->member[plan->first + i], &c[i], &r->member[i]);
    }
    if (status)
        return status;
    r->members = plan->count;
    r->lead = lead_of(x, segment);
    describe_run(x, r);
    status = r->queue->device->ops->segment_new(r->queue->queue, c, plan->count, frames,
                                                x->params_bytes, &r->segment);
    return status ? name_segment(x, r, status) : RONDO_OK;
}

rondo_status rd_exec_devices_make(struct rd_exec *x, const struct rd_subgraph *e)
{
    struct rd_exec_devices *d = x->devices;
    rondo_status status = RONDO_OK;
    if (!d)
        return RONDO_OK;
    d->run = rd_scratch_zeroed(&d->pool, d->plan->segments, sizeof *d->run);
    d->kernel = rd_scratch_zeroed(&d->pool, d->plan->members, sizeof *d->kernel);
    d->kernel_ops = rd_scratch_zeroed(&d->pool, d->plan->members, sizeof *d->kernel_ops);
    if (!d->run || !d->kernel || !d->kernel_ops)
        return no_memory(e);
    for (uint32_t i = 0; i < d->places && !status; i++)
        status = make_queue(x, &d->place[i]);
    for (uint32_t i = 0; i < d->plan->segments && !status; i++)
        status = make_segment(x, e, i);
    return status;
}

/* ---- the end */

static void end_place(struct rd_exec *x, struct rd_exec_place *p)
{
    struct rd_segment_queue *q = &p->queue;
    if (q->queue)
        q->device->ops->queue_free(q->queue);
    rd_segment_queue_end(q);
    if (q->progress.source) {
        pthread_mutex_destroy(&q->lock);
        rd_runtime_source_end(x->rt, q->progress.source);
    }
}

void rd_exec_devices_end(struct rd_exec *x)
{
    struct rd_exec_devices *d = x->devices;
    struct rd_allocator *a = &x->rt->alloc;
    if (!d)
        return;
    for (uint32_t i = 0; d->run && i < d->plan->segments; i++)
        if (d->run[i].segment)
            d->run[i].queue->device->ops->segment_free(d->run[i].segment);
    for (uint32_t i = 0; i < d->kernels; i++)
        d->kernel_ops[i]->kernel_free(d->kernel[i]);
    for (uint32_t i = 0; i < d->places; i++)
        end_place(x, &d->place[i]);
    rd_exec_devices_free_memory(x);
    rd_free_array(a, d->place, x->rt->devices->count, sizeof *d->place);
    rd_segments_free(d->plan);
    rd_scratch_free(&d->pool);
    rd_free_array(a, d, 1, sizeof *d);
    x->devices = NULL;
}

/* ---- asked of it */

struct rd_segment_run *rd_exec_segment_of(const struct rd_exec *x, uint32_t node)
{
    return &x->devices->run[(node - x->devices->nodes) / 2];
}

uint16_t rd_exec_device_processor(const struct rd_exec *x, const struct rd_node *n)
{
    uint32_t place = x->devices->place_of[n->bound - RD_ON_DEVICE] - 1u;
    return (uint16_t)(x->processors + x->helpers + 2 * place + (n->kind != RD_NODE_SUBMIT));
}

uint32_t rd_exec_device_of(const struct rd_exec *x, uint32_t processor, int *submits)
{
    const uint32_t first = x->processors + x->helpers;
    if (processor < first || processor - first >= x->device_processors)
        return 0;
    *submits = (processor - first) % 2 == 0;
    return x->devices->place[(processor - first) / 2].queue.device->number + 1;
}

void rd_exec_devices_switch(struct rd_exec *x, uint32_t node, int enabled)
{
    struct rd_segment_run *r = &x->devices->run[x->devices->plan->segment_of[node] - 1];
    for (uint32_t i = 0; i < r->members; i++)
        if (r->member[i].node == node)
            r->member[i].off = !enabled; /* published with the tickets given out later */
}
