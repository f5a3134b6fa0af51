/* SPDX-License-Identifier: BSD-3-Clause */
/* Random recordings with nodes on devices, played on bytes as the residency pass has changed them:
 * in order, and in any order that the analysis of the changed recording allows. */
#include "subgraph/record.h"
#include "tests/compile/graphs.h"
#include "tests/compile/residency_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { SLOTS = 8, NODES = 14, BUFFERS = 16, HOST = 1 << 16 };

static rondo_runtime rt;
static char host_memory[HOST], reference[HOST];

static int body(rondo_task *self, const void *arg)
{
    (void)self, (void)arg;
    return 0;
}
static void call(void *context) { (void)context; }

/* ---- what is drawn */

struct case_slot {
    rondo_slot handle;
    rondo_shape shape;
    int buffers[3], count, first, kind; /* 0 fixed, 1 ring, 2 bound, 3 temporary, 4 token */
    int alias, written, zeroed, at_end;
};

struct a_case {
    uint64_t seed, number;
    rondo_subgraph handle;
    struct rd_subgraph *g;
    rondo_buffer buffer[BUFFERS];
    rondo_shape buffer_shape[BUFFERS];
    size_t buffer_at[BUFFERS], end; /* in host_memory */
    int buffers, slots;
    struct case_slot slot[SLOTS];
    uint32_t devices;
    rondo_param param;
    int reduces; /* some accesses are RONDO_REDUCE */
};

static size_t span_of(const rondo_shape *s)
{
    return (size_t)(s->extent[2] - 1) * s->pitch_bytes[1] +
           (size_t)(s->extent[1] - 1) * s->pitch_bytes[0] + (size_t)s->extent[0] * s->elem_bytes;
}

static void draw_shape(struct a_case *c, rondo_shape *s)
{
    uint32_t dims = 1 + below(&c->seed, 3);
    memset(s, 0, sizeof *s);
    s->elem_bytes = below(&c->seed, 3) ? 4 : 8;
    s->extent[0] = dims == 1 ? 1 + below(&c->seed, 60) : 1 + below(&c->seed, 12);
    s->extent[1] = dims > 1 ? 1 + below(&c->seed, 8) : 1;
    s->extent[2] = dims > 2 ? 1 + below(&c->seed, 4) : 1;
    s->pitch_bytes[0] = (size_t)s->extent[0] * s->elem_bytes + 8 * below(&c->seed, 2);
    s->pitch_bytes[1] = (size_t)s->extent[1] * s->pitch_bytes[0] + 8 * below(&c->seed, 2);
}

static int add_buffer(struct a_case *c, const rondo_shape *shape, size_t at)
{
    int b = c->buffers++;
    char name[16];
    snprintf(name, sizeof name, "b%d", b);
    rondo_buffer_desc desc = { .name = name, .shape = *shape, .host = host_memory + at };
    cr_assert_eq(rondo_buffer_create(rt, &desc, &c->buffer[b]), RONDO_OK, "%s",
                 rondo_error_message());
    c->buffer_shape[b] = *shape;
    c->buffer_at[b] = at;
    return b;
}

static int new_buffer(struct a_case *c, const rondo_shape *shape)
{
    size_t at = c->end;
    c->end = (at + span_of(shape) + 23) & ~(size_t)15;
    return add_buffer(c, shape, at);
}

/* One over an older one's bytes. */
static int over_buffer(struct a_case *c, struct case_slot *s)
{
    int old = (int)below(&c->seed, (uint32_t)c->buffers);
    size_t span = span_of(&c->buffer_shape[old]), shift = 4 * below(&c->seed, 4);
    memset(&s->shape, 0, sizeof s->shape);
    s->shape.elem_bytes = 4;
    if (shift + 4 > span)
        shift = 0;
    s->shape.extent[0] = (int64_t)(1 + below(&c->seed, (uint32_t)((span - shift) / 4)));
    s->shape.extent[1] = s->shape.extent[2] = 1;
    s->shape.pitch_bytes[0] = s->shape.pitch_bytes[1] = (size_t)s->shape.extent[0] * 4;
    return add_buffer(c, &s->shape, c->buffer_at[old] + shift);
}

static void draw_ring(struct a_case *c, struct case_slot *s)
{
    s->kind = 1;
    s->count = 2 + (int)below(&c->seed, 2);
    for (int i = 0; i < s->count; i++)
        s->buffers[i] = new_buffer(c, &s->shape);
    s->first = (int)below(&c->seed, (uint32_t)s->count);
}

/* A slot over buffers that another one has. */
static void draw_second(struct a_case *c, struct case_slot *s, const struct case_slot *old)
{
    int by = below(&c->seed, 4) ? 0 : 1;
    *s = *old;
    s->at_end = 0;
    if (old->kind == 1) {
        for (int i = 0; i < old->count; i++)
            s->buffers[i] = old->buffers[(i + by) % old->count];
        s->first = (int)below(&c->seed, (uint32_t)s->count);
        if (!below(&c->seed, 6)) { /* one buffer alone: the body is not regular */
            s->kind = 0;
            s->count = 1;
            s->first = 0;
        }
    } else if (!below(&c->seed, 3)) { /* another geometry */
        s->shape.elem_bytes = 4;
        s->shape.extent[0] = (int64_t)(span_of(&old->shape) / 4);
        s->shape.extent[1] = s->shape.extent[2] = 1;
        s->shape.pitch_bytes[0] = s->shape.pitch_bytes[1] = (size_t)s->shape.extent[0] * 4;
    }
}

static const struct case_slot *older(struct a_case *c, int kinds)
{
    int from = (int)below(&c->seed, (uint32_t)c->slots + 1);
    for (int i = 0; i < c->slots; i++)
        if (kinds >> c->slot[(i + from) % c->slots].kind & 1)
            return &c->slot[(i + from) % c->slots];
    return NULL;
}

/* All bytes as one row, if there are none between them. */
static void reshape(struct case_slot *s)
{
    size_t elements = (size_t)(s->shape.extent[0] * s->shape.extent[1] * s->shape.extent[2]);
    if (span_of(&s->shape) != elements * s->shape.elem_bytes)
        return;
    s->shape.extent[0] = (int64_t)elements;
    s->shape.extent[1] = s->shape.extent[2] = 1;
    s->shape.pitch_bytes[0] = s->shape.pitch_bytes[1] = elements * s->shape.elem_bytes;
}

static void draw_slot(struct a_case *c, struct case_slot *s)
{
    uint32_t what = below(&c->seed, 16);
    const struct case_slot *old = older(c, 3);
    memset(s, 0, sizeof *s);
    s->alias = -1;
    draw_shape(c, &s->shape);
    s->count = 1;
    if (c->buffers > BUFFERS - 4)
        what = 13 + what % 3;
    if (what < 4 && old) {
        draw_second(c, s, old);
    } else if (what == 4 && c->buffers) {
        s->buffers[0] = over_buffer(c, s);
    } else if (what < 8) {
        draw_ring(c, s);
    } else if (what < 13) {
        s->buffers[0] = new_buffer(c, &s->shape);
    } else if (what == 13) {
        s->kind = 2;
        old = older(c, 4);
        if (old) {
            *s = *old;
            s->alias = old->alias >= 0 ? old->alias : (int)(old - c->slot);
        }
    } else {
        s->kind = 3;
        s->zeroed = (int)below(&c->seed, 2);
    }
    if (!below(&c->seed, 20)) {
        memset(s, 0, sizeof *s);
        s->kind = 4;
        s->alias = -1;
        s->shape.extent[0] = 5;
    }
    if (s->kind < 2 && what >= 4 && !below(&c->seed, 5))
        reshape(s);
    s->at_end = s->kind > 1 || below(&c->seed, 6) ? 0 : 1 + (int)below(&c->seed, 1 + c->devices);
}

static void record_slot(struct a_case *c, int index)
{
    struct case_slot *s = &c->slot[index];
    rondo_buffer ring[3];
    char name[16];
    snprintf(name, sizeof name, "s%d", index);
    rondo_slot_desc desc = { .name = name, .shape = s->shape };
    for (int i = 0; i < s->count && s->kind < 2; i++)
        ring[i] = c->buffer[s->buffers[i]];
    if (s->kind == 0)
        desc.buffer = ring[0];
    if (s->kind == 1) {
        desc.ring = ring;
        desc.ring_count = (uint32_t)s->count;
        desc.ring_first = (uint32_t)s->first;
    }
    if (s->kind == 3)
        desc.flags = RONDO_TEMPORARY | (s->zeroed ? (uint32_t)RONDO_ZEROED : 0);
    if (s->alias >= 0)
        desc.alias_of = c->slot[s->alias].handle;
    s->handle = rondo_subgraph_slot(c->handle, &desc);
    cr_assert(s->handle.id, "%s", rondo_error_message());
    c->g->slots.item[index].at_end = (uint8_t)s->at_end;
}

/* ---- nodes */

static rondo_region draw_region(struct a_case *c, const rondo_shape *s)
{
    rondo_region r;
    for (int d = 0; d < 3; d++) {
        r.first[d] = below(&c->seed, 3) ? below(&c->seed, (uint32_t)s->extent[d]) : 0;
        r.count[d] = below(&c->seed, 2) ? 1 + below(&c->seed, (uint32_t)(s->extent[d] - r.first[d]))
                                        : s->extent[d] - r.first[d];
    }
    return r;
}

/* Whether two slots may have bytes in common. */
static int share(const struct a_case *c, int a, int b)
{
    const struct case_slot *x = &c->slot[a], *y = &c->slot[b];
    if (a == b)
        return 1;
    if (x->kind != y->kind && (x->kind > 1 || y->kind > 1))
        return 0;
    if (x->kind == 2)
        return x->alias == b || y->alias == a || (x->alias >= 0 && x->alias == y->alias);
    if (x->kind > 2)
        return 0;
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < y->count; k++) {
            size_t p = c->buffer_at[x->buffers[i]], q = c->buffer_at[y->buffers[k]];
            if (p < q + span_of(&c->buffer_shape[y->buffers[k]]) &&
                q < p + span_of(&c->buffer_shape[x->buffers[i]]))
                return 1;
        }
    return 0;
}

static int draw_accesses(struct a_case *c, rondo_access *access, int sure)
{
    int n = 1 + (int)below(&c->seed, 3), count = 0, slot[3];
    static const uint8_t modes[] = { RONDO_READ, RONDO_READ, RONDO_WRITE, RONDO_READ_WRITE,
                                     RONDO_COMMUTE };
    for (int i = 0; i < n; i++) {
        int s = (int)below(&c->seed, (uint32_t)c->slots), meets = 0;
        struct case_slot *k = &c->slot[s];
        unsigned mode = modes[below(&c->seed, 5)];
        for (int j = 0; j < count; j++)
            meets |= share(c, s, slot[j]) &&
                     (slot[j] != s || k->kind == 3 || (mode | access[j].mode) & 4 ||
                      (mode & access[j].mode & RONDO_WRITE));
        if (meets)
            continue;
        if (k->kind == 4) {
            access[count] = rondo_access_of(k->handle, mode & 3, rondo_span(0, 1));
            slot[count++] = s;
            continue;
        }
        access[count] = rondo_access_of(k->handle, mode, draw_region(c, &k->shape));
        if (k->kind == 3 && !k->zeroed && !k->written) {
            if (!sure)
                continue; /* it might not be written */
            access[count] = rondo_access_of(k->handle, RONDO_WRITE, rondo_whole());
            k->written = 1;
        } else if (!(mode & RONDO_WRITE) && !below(&c->seed, 3)) {
            access[count].flags = below(&c->seed, 2) ? RONDO_CLIP | RONDO_STAR : RONDO_WRAP;
            for (int d = 0; d < 3; d++)
                access[count].halo[d] = (int16_t)(k->shape.extent[d] > 1);
            if (!(access[count].halo[0] | access[count].halo[1] | access[count].halo[2]))
                access[count].flags = 0;
        }
        if (c->reduces && k->kind < 3 && !access[count].flags && !below(&c->seed, 6)) {
            access[count].mode = RONDO_REDUCE;
            access[count].type = k->shape.elem_bytes == 8 ? RONDO_F64 : RONDO_F32;
            access[count].op = RONDO_SUM;
        }
        slot[count++] = s;
    }
    return count;
}

static rondo_when draw_when(struct a_case *c)
{
    rondo_when when = { { 0 }, { 0 }, 0, 0 };
    switch (below(&c->seed, 20)) {
    case 0:
        when.every = 2 + below(&c->seed, 2);
        when.phase = below(&c->seed, when.every);
        break;
    case 1: when.param = c->param; break;
    case 2:
        for (int i = 0; i < c->slots; i++)
            if (c->slot[i].shape.elem_bytes == 4 && c->slot[i].kind < 3)
                when.flag = c->slot[i].handle;
        break;
    default: break;
    }
    return when;
}

static void draw_move(struct a_case *c)
{
    struct case_slot *to = &c->slot[below(&c->seed, (uint32_t)c->slots)];
    struct case_slot *from = &c->slot[below(&c->seed, (uint32_t)c->slots)];
    static const double value = 1.25;
    rondo_move_desc d = { 0 };
    int fill = (int)below(&c->seed, 2);
    rondo_region r;
    if (to->kind == 4 || from->kind == 4)
        return;
    if ((to->kind == 3 && !to->zeroed && !to->written) ||
        (!fill && from->kind == 3 && !from->zeroed && !from->written))
        return;
    r = draw_region(c, &to->shape);
    d.to = rondo_write(to->handle, r);
    d.when = draw_when(c);
    if (!below(&c->seed, 5))
        d.count = rondo_subgraph_param(c->handle, "count", 8, NULL);
    if (fill) {
        d.value = &value;
        d.value_bytes = to->shape.elem_bytes;
        rondo_record_fill(c->handle, &d);
        return;
    }
    if (from->shape.elem_bytes != to->shape.elem_bytes ||
        share(c, (int)(from - c->slot), (int)(to - c->slot)))
        return;
    for (int k = 0; k < 3; k++) {
        if (r.count[k] > from->shape.extent[k])
            r.count[k] = from->shape.extent[k];
        r.first[k] = below(&c->seed, (uint32_t)(from->shape.extent[k] - r.count[k] + 1));
    }
    memcpy(d.to.region.count, r.count, sizeof r.count);
    d.from = rondo_read(from->handle, r);
    rondo_record_copy(c->handle, &d);
}

static void draw_node(struct a_case *c)
{
    rondo_access access[3];
    uint32_t what = below(&c->seed, 20);
    rondo_task_desc d = { .fn = body, .accesses = access };
    char name[16];
    snprintf(name, sizeof name, "n%zu", c->g->nodes.count);
    d.name = name;
    if (what == 0) {
        if (below(&c->seed, 2))
            rondo_record_call(c->handle, "call", call, NULL);
        else
            rondo_record_task(c->handle, &(rondo_task_desc){ .name = "all", .fn = body });
        return;
    }
    if (what < 6) {
        draw_move(c);
        return;
    }
    d.when = draw_when(c);
    d.access_count =
        (uint32_t)draw_accesses(c, access, !d.when.every && !d.when.param.id && !d.when.flag.id);
    if (d.access_count)
        rondo_record_task(c->handle, &d);
}

/* What is no call goes to a device now and then. */
static void bind_nodes(struct a_case *c)
{
    for (size_t v = 0; v < c->g->nodes.count; v++) {
        struct rd_node *n = &c->g->nodes.item[v];
        if (!n->everything && below(&c->seed, 5) > 1)
            n->bound = (uint16_t)(RD_ON_DEVICE + below(&c->seed, c->devices));
    }
}

static void draw(struct a_case *c, uint64_t seed, int reduces)
{
    uint32_t nodes;
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->reduces = reduces;
    c->devices = 1 + below(&c->seed, 2);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &c->handle), RONDO_OK);
    rondo_status status;
    c->g = rd_subgraph_get(c->handle, &status);
    c->param = rondo_subgraph_param(c->handle, "p", 4, NULL);
    nodes = 1 + below(&c->seed, SLOTS);
    for (uint32_t i = 0; i < nodes; i++) {
        draw_slot(c, &c->slot[c->slots]);
        record_slot(c, c->slots++);
    }
    nodes = 2 + below(&c->seed, NODES);
    for (uint32_t i = 0; i < nodes; i++)
        draw_node(c);
    cr_assert_eq(rondo_subgraph_status(c->handle), RONDO_OK, "seed %llu: %s",
                 (unsigned long long)seed, rondo_error_message());
    bind_nodes(c);
}

static void undraw(struct a_case *c)
{
    rd_subgraph_unref(c->g);
    rondo_subgraph_destroy(c->handle);
    for (int i = 0; i < c->buffers; i++)
        rondo_buffer_destroy(c->buffer[i]);
}

/* ---- its world */

/* Host memory of temporaries and of what is bound, apart for each replay. */
static void place_loose(struct world *w, struct a_case *c)
{
    for (size_t s = 0; s < w->g->slots.count; s++) {
        const struct rd_slot *slot = &w->g->slots.item[s];
        for (int i = 0; i < WORLD_REPLAYS && !slot->count; i++) {
            w->place[s][i] = c->end;
            c->end = (c->end + slot->bytes + 23) & ~(size_t)15;
            if (slot->alias != s && below(&c->seed, 2))
                w->place[s][i] = w->place[slot->alias][i];
        }
    }
    cr_assert(c->end <= HOST, "%zu bytes", c->end);
}

static void draw_limits(struct world *w, struct a_case *c)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < w->g->slots.count; s++)
        for (uint32_t m = 1; m <= w->devices; m++) {
            const struct rd_slot *slot = &w->g->slots.item[s];
            uint64_t bytes = 0;
            int theirs = slot->count != 0;
            for (uint32_t i = 0; i < slot->count; i++) {
                bytes += world_has(w, slot->buffers[i], m) ? 0 : slot->buffers[i]->bytes;
                theirs &= world_has(w, slot->buffers[i], m);
            }
            w->instance_bytes[s * (1 + w->devices) + m] = bytes;
            w->external[s * (1 + w->devices) + m] = (uint8_t)(theirs && below(&c->seed, 2));
            sum += bytes + slot->bytes;
        }
    for (uint32_t d = 0; d < w->devices; d++)
        w->room[d] = below(&c->seed, 3) ? UINT64_MAX : 256 * (1 + below(&c->seed, 12)) + sum / 8;
    for (uint32_t i = 0; i < w->devices * w->devices; i++)
        w->peers[i] = (uint8_t)below(&c->seed, 2);
}

/* 1: played; 0: refused. */
static int play(struct a_case *c, const struct rd_subgraph *g, const uint32_t *order,
                int overlapped)
{
    struct world w = { .seed = c->seed,
                       .g = g,
                       .order = order,
                       .host = host_memory,
                       .reference = reference,
                       .host_bytes = HOST,
                       .devices = c->devices,
                       .replays = WORLD_REPLAYS,
                       .had = c->seed };
    uint64_t seed = c->seed;
    size_t end = c->end;
    rondo_status status;
    for (size_t i = 0; i < HOST; i++)
        host_memory[i] = (char)next_random(&seed);
    w.place = calloc(g->slots.count, sizeof *w.place);
    w.instance_bytes = calloc(g->slots.count * 8 + 8, sizeof *w.instance_bytes);
    w.external = calloc(g->slots.count * 8 + 8, 1);
    place_loose(&w, c);
    draw_limits(&w, c);
    status = world_make(&w);
    if (status)
        cr_assert(strstr(rondo_error_message(), "bytes are missing") ||
                      strstr(rondo_error_message(), "at_end is"),
                  "case %llu: %s", (unsigned long long)c->number, rondo_error_message());
    else if (getenv("RESIDENCY_SEED"))
        world_print(&w);
    if (!status)
        cr_assert(world_play(&w, overlapped), "case %llu: %s", (unsigned long long)c->number,
                  w.why);
    world_free(&w);
    free(w.place);
    free(w.instance_bytes);
    free(w.external);
    c->end = end;
    return !status;
}

/* Edges by hand instead of those that accesses imply, and the nodes in another order. *order: the
 * one they were in, of the expanded recording. 0: this one cannot be said so. */
static int make_explicit(struct a_case *c, uint32_t *at)
{
    struct rd_subgraph *g = c->g;
    uint32_t n = (uint32_t)g->nodes.count;
    struct rd_node *nodes;
    struct rd_graph graph;
    for (uint32_t v = 0; v < n; v++)
        if (g->nodes.item[v].everything)
            return 0;
    if (rd_subgraph_analyse(g, 1, &graph))
        return 0;
    nodes = malloc(n * sizeof *nodes);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t j = below(&c->seed, v + 1);
        at[v] = at[j];
        at[j] = v;
    }
    for (uint32_t v = 0; v < n; v++)
        nodes[at[v]] = g->nodes.item[v];
    memcpy(g->nodes.item, nodes, n * sizeof *nodes);
    free(nodes);
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t e = graph.first[v]; e < graph.first[v + 1]; e++) {
            struct rd_hand_edge edge = { at[graph.pred[e].from], at[v], graph.pred[e].distance };
            cr_assert(RD_ROOM(g, edges, 1));
            g->edges.item[g->edges.count++] = edge;
        }
    g->edges_explicit = 1;
    rd_graph_free(&g->rt->alloc, &graph);
    return 1;
}

/* An edge against the order of recording, between nodes that nothing else orders. */
static void add_backward(struct a_case *c)
{
    uint32_t n = (uint32_t)c->g->nodes.count;
    struct rd_hand_edge e = { n ? below(&c->seed, n) : 0, n ? below(&c->seed, n) : 0, 0 };
    struct rd_graph graph;
    if (e.from <= e.to || !RD_ROOM(c->g, edges, 1))
        return;
    c->g->edges.item[c->g->edges.count++] = e;
    if (rd_subgraph_analyse(c->g, 1, &graph))
        c->g->edges.count--;
    else
        rd_graph_free(&c->g->rt->alloc, &graph);
}

/* The order of an expanded recording whose nodes were shuffled: what was added first. */
static void old_order(const struct rd_subgraph *e, const uint32_t *at, uint32_t n, uint32_t *order)
{
    uint32_t added = (uint32_t)e->nodes.count - n;
    for (uint32_t i = 0; i < added; i++)
        order[i] = n + i;
    memcpy(order + added, at, n * sizeof *at);
}

static void open_runtime(void)
{
    if (!rt.id)
        cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = NULL }, &rt), RONDO_OK);
}

enum { IN_ORDER, OVERLAPPED, EXPLICIT, BACKWARD };

static void run(uint64_t first, uint64_t count, int how)
{
    uint32_t played = 0;
    const char *one = getenv("RESIDENCY_SEED");
    if (getenv("RESIDENCY_COUNT"))
        count = strtoull(getenv("RESIDENCY_COUNT"), NULL, 10);
    open_runtime();
    for (uint64_t i = first; i < first + count; i++) {
        struct a_case c;
        struct rd_subgraph *e;
        uint64_t seed = (one ? strtoull(one, NULL, 10) : i) * 0x9e3779b97f4a7c15ull + 1;
        uint32_t at[NODES + 2], order[NODES + SLOTS + 2], n;
        draw(&c, seed, (how == IN_ORDER || how == OVERLAPPED) && i % 3 == 0);
        c.number = one ? strtoull(one, NULL, 10) : i;
        n = (uint32_t)c.g->nodes.count;
        for (int k = 0; k < 3 && how == BACKWARD; k++)
            add_backward(&c);
        if (n && (how != EXPLICIT || make_explicit(&c, at))) {
            cr_assert_eq(rd_subgraph_expand(c.g, 1, &e), RONDO_OK);
            if (how == EXPLICIT)
                old_order(e, at, n, order);
            played += (uint32_t)play(&c, e, how == EXPLICIT ? order : NULL,
                                     how == OVERLAPPED || (how != IN_ORDER && i % 2));
            rd_subgraph_unref(e);
        }
        undraw(&c);
        if (one)
            break;
    }
    rondo_runtime_close(rt);
    rt.id = 0;
    cr_assert(one || played > count / 4, "%u of %llu played", played, (unsigned long long)count);
}

/* ---- many small boxes */

/* Nodes that touch an element or two here and there, so that lists of boxes grow long. */
static void draw_scattered(struct a_case *c, uint64_t seed)
{
    rondo_status status;
    char name[16];
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->devices = 1 + below(&c->seed, 2);
    cr_assert_eq(rondo_subgraph_create(rt, NULL, &c->handle), RONDO_OK);
    c->g = rd_subgraph_get(c->handle, &status);
    for (int i = 0; i < 3; i++) {
        struct case_slot *s = &c->slot[c->slots];
        memset(s, 0, sizeof *s);
        s->alias = -1;
        s->count = 1;
        s->shape = (rondo_shape){ 4, { 40, 20, 1 }, { 160, 3200 } };
        s->kind = (int)below(&c->seed, 4);
        s->zeroed = 1;
        if (s->kind == 1)
            draw_ring(c, s);
        else if (!s->kind)
            s->buffers[0] = new_buffer(c, &s->shape);
        record_slot(c, c->slots++);
    }
    for (int i = 0; i < 250; i++) {
        struct case_slot *s = &c->slot[below(&c->seed, 3)];
        rondo_access a = rondo_access_of(s->handle, 1 + below(&c->seed, 3),
                                         rondo_box(below(&c->seed, 39), below(&c->seed, 19),
                                                   1 + below(&c->seed, 2), 1 + below(&c->seed, 2)));
        rondo_task_desc d = { .fn = body, .accesses = &a, .access_count = 1, .name = name };
        if (!below(&c->seed, 60)) {
            a.mode = RONDO_READ;
            a.region = rondo_whole();
        }
        snprintf(name, sizeof name, "n%d", i);
        cr_assert(rondo_record_task(c->handle, &d).id);
        c->g->nodes.item[i].bound =
            (uint16_t)(below(&c->seed, 2) ? RD_ON_DEVICE + below(&c->seed, c->devices)
                                          : RD_PROCESSOR_ANY);
    }
}

Test(residency_random, scattered)
{
    open_runtime();
    for (uint64_t i = 0; i < 60; i++) {
        struct a_case c;
        struct rd_subgraph *e;
        draw_scattered(&c, i * 0x9e3779b97f4a7c15ull + 1);
        c.number = i;
        cr_assert_eq(rd_subgraph_expand(c.g, 1, &e), RONDO_OK);
        play(&c, e, NULL, (int)i % 2);
        rd_subgraph_unref(e);
        undraw(&c);
    }
    rondo_runtime_close(rt);
    rt.id = 0;
}

Test(residency_random, in_order) { run(0, 3000, IN_ORDER); }
Test(residency_random, overlapped) { run(100000, 3000, OVERLAPPED); }
Test(residency_random, explicit_edges) { run(200000, 3000, EXPLICIT); }
Test(residency_random, backward_edges) { run(300000, 3000, BACKWARD); }
