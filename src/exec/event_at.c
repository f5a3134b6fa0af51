/* SPDX-License-Identifier: BSD-3-Clause */
/* The event that a node of a replay has ended.
 *
 * In static lanes that is a value of the lane's counter. A node that no other lane waits for does
 * not publish; once asked for, it does, and so do the nodes behind it in its lane, since the lane
 * may have passed it in the replay that is asked about.
 *
 * Everything else is told by a watch: what several lanes have to reach, or which nodes executors
 * that do not follow lanes' order have run (rd_track.over). The cleaner, which waits for nothing
 * but what it is to clean, looks at watches; a watch that is over retires its source, which
 * completes the event. Safety: a watch looks at a core's memory only while the replay has not
 * ended; only the cleaner frees cores, after their last replay, and it is the one thread that
 * looks. */
#include "src/exec/exec.h"

#include "src/base/id.h"
#include "src/base/os.h"

enum { LOOK_NS = 100000 };

struct watch {
    struct rd_tenant tenant; /* first */
    struct rd_runtime *rt;
    struct rd_source *source;
    struct rd_gate replay; /* its end: then all nodes have ended */
    rd_atomic64 *over;     /* of the first node; NULL: only the gates tell */
    size_t nodes;
    uint64_t need;       /* in `over` */
    uint32_t gate_count; /* 0: only `over` tells */
    uint32_t gate_room;
    struct rd_gate gate[]; /* lanes' counters */
};

/* ---- watching */

static int is_reached(const struct rd_gate *g)
{
    return rd_source_reached(g->source, g->id, g->count);
}

static int all_over(const struct watch *w)
{
    for (size_t i = 0; i < w->nodes; i++)
        if (rd_load_acquire(&w->over[i]) < w->need) /* pairs with rd_op_run */
            return 0;
    return 1;
}

/* The first gate that has not been reached; NULL: none, and there are gates. */
static const struct rd_gate *next_gate(const struct watch *w)
{
    for (uint32_t i = 0; i < w->gate_count; i++)
        if (!is_reached(&w->gate[i]))
            return &w->gate[i];
    return NULL;
}

static int is_over(const struct watch *w)
{
    if (is_reached(&w->replay))
        return 1;
    return (w->over && all_over(w)) || (w->gate_count && !next_gate(w));
}

/* rd_tenant.closed */
static int look(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct watch *w = (struct watch *)tenant;
    const struct rd_gate *g;
    if (!is_over(w)) {
        g = next_gate(w);
        if (g)
            *unmet = (struct rd_unmet){ &g->source->done, g->count, &g->source->wake,
                                        &g->source->at, 0 };
        if (w->over) /* nobody is told of these */
            unmet->until_ns = rd_os.now_ns() + LOOK_NS;
        return 0;
    }
    rd_runtime_source_end(w->rt, w->source); /* completes the event */
    return 1;
}

static size_t bytes_of(uint32_t gates)
{
    return sizeof(struct watch) + gates * sizeof(struct rd_gate);
}

static void free_watch(struct rd_tenant *tenant)
{
    struct watch *w = (struct watch *)tenant;
    struct rd_runtime *rt = w->rt;
    rd_free(&rt->alloc, w, bytes_of(w->gate_room));
    rd_runtime_unref(rt);
}

static struct watch *new_watch(struct rd_exec *x, uint32_t gates)
{
    struct watch *w = rd_zalloc(&x->rt->alloc, bytes_of(gates), 64);
    if (!w)
        return NULL;
    w->rt = x->rt;
    w->gate_room = gates;
    w->tenant.closed = look;
    w->tenant.free = free_watch;
    return w;
}

static rondo_status begin_watch(struct rd_exec *x, struct watch *w, uint32_t track,
                                rondo_event *event)
{
    w->source = rd_runtime_source(w->rt);
    if (!w->source) {
        rd_free(&w->rt->alloc, w, bytes_of(w->gate_room));
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for an event of a node",
                        x->program.exec_name);
    }
    rd_store_relaxed(&w->source->track, track);
    rd_store_relaxed(&w->source->exec, x->id); /* callers that wait drive the exec */
    *event = (rondo_event){ rd_source_id(w->source), 1 };
    rd_runtime_ref(w->rt);
    rd_cleaner_retire(w->rt, &w->tenant);
    return RONDO_OK;
}

/* ---- lanes */

static void publish_op(struct rd_op *op, uint32_t position)
{
    if (!rd_load_shared(&op->publish))
        rd_store_shared(&op->publish, position + 1);
}

/* From the node on, all ops of its lane but the last publish. */
static void publish_from(struct rd_track *t, const struct rd_plan_lane *lane, uint32_t position)
{
    const struct rd_plan *plan = t->plan;
    for (; position + 1 < lane->length; position++) {
        publish_op(&t->op[lane->first + position], position);
        for (uint32_t v = 1; v < plan->variants; v++)
            publish_op(&rd_track_ops(t, v)[lane->first + position], position);
    }
}

/* What the node's lane has to reach in that replay. */
static struct rd_gate gate_of(struct rd_track *t, uint64_t local, uint32_t node, uint32_t *number)
{
    const struct rd_plan *plan = t->plan;
    uint32_t op = plan->op_of_node[node], lane = rd_plan_lane_of_op(plan, op);
    const struct rd_plan_lane *l = &plan->lane[lane];
    struct rd_source *s = t->counter[lane];
    publish_from(t, l, op - l->first);
    *number = lane;
    return (struct rd_gate){ .source = s,
                             .id = rd_source_id(s),
                             .count = (local + t->distance) * l->length + (op - l->first) + 1 };
}

/* The watch's gates: of each lane what the last of the nodes in it makes it reach. */
static void add_gates(struct watch *w, struct rd_track *t, uint64_t local, uint32_t first,
                      uint32_t count)
{
    for (uint32_t v = first; v < first + count; v++) {
        uint32_t lane, i = 0;
        struct rd_gate g = gate_of(t, local, v, &lane);
        while (i < w->gate_count && w->gate[i].source != g.source)
            i++;
        if (i == w->gate_count)
            w->gate[w->gate_count++] = g;
        else if (w->gate[i].count < g.count)
            w->gate[i].count = g.count;
    }
}

/* ---- finding the replay */

/* The core that runs a ticket, or ran it last; NULL: it ended long ago. Under the series' lock. */
static struct rd_core *core_of(struct rd_series *s, uint64_t ticket)
{
    uint32_t now = RD_WORD_CORE(rd_load_acquire(&s->word));
    for (uint32_t i = 0; i < RD_CORES_MAX; i++) {
        struct rd_core *c = s->core[i];
        struct rd_track *t = c ? rd_core_track(c, ticket) : NULL;
        if (!c || ticket / s->tracks < rd_load_relaxed(&t->first))
            continue;
        if (i == now || ticket < c->last)
            return c;
    }
    return NULL;
}

static rondo_status make_event(struct rd_core *c, uint64_t ticket, uint32_t first, uint32_t count,
                               rondo_event *event)
{
    struct rd_track *t = rd_core_track(c, ticket);
    uint64_t local = rd_core_local(c, t, ticket), replay = ticket / c->tracks + 1;
    rd_atomic64 *over = rd_load_acquire(&t->over); /* pairs with whoever made it */
    const uint32_t lanes = c->kind == RD_CORE_FLOW ? 0 : t->lanes;
    struct watch *w;
    if (!over && count == 1) {
        struct rd_gate g = gate_of(t, local, first, &(uint32_t){ 0 });
        rd_store_relaxed(&g.source->exec, c->x->id); /* callers that wait drive the exec */
        *event = is_reached(&g) ? (rondo_event){ 0, 0 } : (rondo_event){ g.id, g.count };
        return RONDO_OK;
    }
    w = new_watch(c->x, count < lanes ? count : lanes);
    if (!w)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': no memory for an event of a node",
                        c->x->program.exec_name);
    w->replay =
        (struct rd_gate){ .source = t->source, .id = rd_source_id(t->source), .count = replay };
    if (over) {
        w->over = &over[(replay & t->over_mask) * t->plan->nodes + first];
        w->nodes = count;
        w->need = replay;
    }
    if (lanes)
        add_gates(w, t, local, first, count);
    if (is_over(w)) {
        rd_free(&w->rt->alloc, w, bytes_of(w->gate_room));
        *event = (rondo_event){ 0, 0 };
        return RONDO_OK;
    }
    return begin_watch(c->x, w, t->number, event);
}

/* Of a replay that ended long ago: the exec of the series whose node it is, or `x`. Under the
 * series' lock, inside a read section. */
static struct rd_exec *member_of(struct rd_exec *x, rondo_node node)
{
    struct rd_series *s = x->series;
    uint32_t first, count;
    for (uint32_t i = 0; i < s->members; i++) {
        struct rd_exec *m = rd_id_find(s->member[i], RD_ID_EXEC);
        if (m && rd_exec_has_node(m, node, &first, &count))
            return m;
    }
    return x;
}

rondo_status rd_exec_event_at(struct rd_exec *x, struct rd_source *s, rondo_event replay,
                              rondo_node node, rondo_event *event)
{
    struct rd_series *series = x->series;
    uint32_t which = rd_load_relaxed(&s->track), first = 0, count = 0;
    uint64_t ticket = replay.count - 1;
    struct rd_core *c;
    rondo_status status;
    if (which != RD_SOURCE_ALL && series->tracks > 1)
        ticket = ticket * series->tracks + which;
    if (ticket >= RD_WORD_TICKET(rd_load_acquire(&series->word)))
        return rd_error(RONDO_ERR_INVALID, "exec '%s': replay %llu was not submitted yet",
                        x->program.exec_name, (unsigned long long)ticket);
    pthread_mutex_lock(&series->lock); /* no core goes or changes its numbers */
    c = core_of(series, ticket);
    status = rd_exec_nodes_of(c ? c->x : member_of(x, node), node, &first, &count);
    if (!status && c && !rd_source_reached(s, replay.source, replay.count))
        status = make_event(c, ticket, first, count, event);
    else if (!status)
        *event = (rondo_event){ 0, 0 };
    pthread_mutex_unlock(&series->lock);
    return status;
}
