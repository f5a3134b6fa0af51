/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a replay twice and compares. An interpreted replay is alone in its track, and every lane but
 * the first leaves it at once: whoever drives lane 0 has all ops and all their bytes to itself. */
#include "src/check/verify.h"

#include "interp/interp.h"
#include "src/base/error.h"
#include "src/frame/op.h"

#include <stdio.h>
#include <string.h>

/* Some memory that the slots reach. */
struct memory {
    uint32_t slot;
    char *base;
    char *saved; /* its bytes before the replay */
};

/* What one of the two runs has left. */
struct run {
    uint64_t *touch; /* hash by access; written ones only */
    uint64_t *node;  /* 1: it ran; of one ordered with all others, the hash of all memory */
};

struct verify {
    struct rd_check check; /* first */
    const struct rd_regions *regions;
    const struct rd_plan *plan;
    uint32_t *order;       /* of the first run */
    uint32_t *node_of_bit; /* by bad bit */
    uint32_t *done;        /* by lane: ops of the second run */
    uint32_t *further;     /* by lane: its next further wait */
    struct rd_verify_reach reach;
    struct memory *memory;
    uint32_t memories, memory_room;
    struct run run[2], *now;
};

/* ---- hashes */

static uint64_t hash_bytes(uint64_t hash, const char *at, size_t bytes)
{
    uint64_t word;
    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    for (; bytes; at++, bytes--)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
    return hash ^ hash >> 32;
}

static uint64_t hash_box(const struct rd_regions *r, uint32_t slot, const rd_box *box, void *base,
                         uint64_t hash)
{
    struct rd_rows rows;
    char *row;
    rd_rows_begin(&rows, &r->shape[slot], box, base);
    while (rd_rows_next(&rows, &row))
        hash = hash_bytes(hash, row, rows.bytes);
    return hash;
}

static uint64_t hash_all(const struct verify *v)
{
    uint64_t hash = 1;
    for (uint32_t i = 0; i < v->memories; i++) {
        const struct memory *m = &v->memory[i];
        rd_box all = rd_rows_all(&v->regions->shape[m->slot]);
        if (m->base)
            hash = hash_box(v->regions, m->slot, &all, m->base, hash);
    }
    return hash;
}

static void before(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                   const struct rd_op *e)
{
    (void)check;
    (void)l;
    (void)f;
    (void)e;
}

static int after(struct rd_check *check, struct rd_lane *l, struct rd_frame *f,
                 const struct rd_op *e, int code)
{
    struct verify *v = (struct verify *)check;
    const struct rd_regions *r = v->regions;
    const struct rd_node_touches *n = &r->node[e->node];
    if (l->self.skipped || code == RD_CALLED_OFF)
        return code; /* it did not run, and nothing orders what its regions hold by now */
    v->now->node[e->node] = n->ordered ? hash_all(v) : 1;
    for (uint32_t i = n->first; i < n->first + n->count; i++) {
        const struct rd_touch *t = &r->touch[i];
        v->now->touch[i] = 0;
        for (uint32_t k = 0; (t->mode & RONDO_WRITE) && f->base[t->slot] && k < t->box_count; k++)
            v->now->touch[i] =
                hash_box(r, t->slot, &r->box[t->box + k], f->base[t->slot], v->now->touch[i]);
    }
    return code;
}

/* ---- the bytes before */

static void add_memory(struct verify *v, uint32_t slot, void *base)
{
    struct memory *m = &v->memory[v->memories];
    if (v->memories == v->memory_room)
        return;
    m->slot = slot;
    m->base = base;
    v->memories++;
}

/* All that a node might reach in this replay: what its slots are now, and the rest of the rings. */
static void find_memory(struct verify *v, const struct rd_frame *f)
{
    v->memories = 0;
    for (uint32_t s = 0; s < v->regions->slots; s++) {
        void *at = v->reach.buffer(v->reach.exec, s, 0);
        if (!at)
            add_memory(v, s, f->base[s]);
        for (uint32_t i = 0; at; at = v->reach.buffer(v->reach.exec, s, ++i))
            add_memory(v, s, at);
    }
}

/* To `saved`, or back. */
static void copy_memory(const struct rd_regions *r, const struct memory *m, int back)
{
    rd_box all = rd_rows_all(&r->shape[m->slot]);
    struct rd_rows rows;
    char *row;
    rd_rows_begin(&rows, &r->shape[m->slot], &all, m->base);
    while (rd_rows_next(&rows, &row)) {
        char *saved = m->saved + (row - m->base);
        memcpy(back ? row : saved, back ? saved : row, rows.bytes);
    }
}

static int save(struct verify *v, const struct rd_frame *f)
{
    const struct rd_regions *r = v->regions;
    find_memory(v, f);
    for (uint32_t i = 0; i < v->memories; i++) {
        struct memory *m = &v->memory[i];
        if (!m->base)
            continue;
        if (!m->saved && !(m->saved = rd_alloc(r->alloc, r->bytes[m->slot], RD_LINE)))
            return 0;
        copy_memory(r, m, 0);
    }
    return 1;
}

static void restore(const struct verify *v)
{
    for (uint32_t i = 0; i < v->memories; i++)
        if (v->memory[i].base)
            copy_memory(v->regions, &v->memory[i], 1);
}

/* ---- the two runs */

static void run_op(struct rd_lane *l, struct rd_frame *f, uint32_t op, uint32_t lane)
{
    const struct rd_plan_lane *pl = &l->track->plan->lane[lane];
    rd_op_run(l, f, &l->track->op[op], pl->bit_first + (op - pl->first)); /* none pends */
}

static void begin_run(struct verify *v, int number)
{
    v->now = &v->run[number];
    memset(v->now->node, 0, v->regions->nodes * sizeof *v->now->node);
    memset(v->now->touch, 0, v->regions->touches * sizeof *v->now->touch);
}

static void run_recorded(struct verify *v, struct rd_lane *l, struct rd_frame *f)
{
    begin_run(v, 0);
    for (uint32_t i = 0; i < v->plan->nodes; i++) {
        uint32_t op = v->plan->op_of_node[v->order[i]];
        run_op(l, f, op, rd_plan_lane_of_op(v->plan, op));
    }
}

/* The plan as this replay's phase sees it. */
struct view {
    const struct rd_op *op;
    const struct rd_wait *wait;
    const uint32_t *wait_first; /* by lane; NULL: the plan's lanes say */
};

static struct view view_of(const struct verify *v, const struct rd_frame *f)
{
    const struct rd_plan *p = v->plan;
    if ((f->special & RD_SPECIAL_VARIANT) && f->variant) {
        const struct rd_plan_variant *variant = &p->variant[f->variant - 1];
        return (struct view){ variant->op, variant->wait, variant->wait_first };
    }
    return (struct view){ p->op, p->wait, NULL };
}

/* Earlier replays have ended, so that only waits within this one count. */
static int is_met(const struct verify *v, uint32_t peer, uint32_t wait, uint32_t distance)
{
    return distance || v->done[peer] >= wait;
}

static int may_run(const struct verify *v, const struct view *view, const struct rd_op *e,
                   uint32_t lane)
{
    const struct rd_wait *w = view->wait + v->further[lane];
    if (e->wait && !is_met(v, e->peer, e->wait, e->dist))
        return 0;
    for (uint32_t i = 0; i < e->more; i++)
        if (!is_met(v, w[i].peer, w[i].wait, w[i].dist))
            return 0;
    return 1;
}

/* As many ops of a lane as its waits allow; how many. */
static uint32_t run_lane(struct verify *v, const struct view *view, struct rd_lane *l,
                         struct rd_frame *f, uint32_t lane)
{
    const struct rd_plan_lane *pl = &v->plan->lane[lane];
    uint32_t from = v->done[lane];
    while (v->done[lane] < pl->length) {
        uint32_t op = pl->first + v->done[lane];
        const struct rd_op *e = &view->op[op];
        if (!may_run(v, view, e, lane))
            break;
        v->further[lane] += e->more;
        run_op(l, f, op, lane);
        v->done[lane]++;
    }
    return v->done[lane] - from;
}

/* The last lane as far as it gets, then the one before it: the order that needs the waits most. 0:
 * they cannot be met. */
static int run_compiled(struct verify *v, struct rd_lane *l, struct rd_frame *f)
{
    struct view view = view_of(v, f);
    uint32_t left = v->plan->nodes, ran = 1;
    begin_run(v, 1);
    for (uint32_t i = 0; i < v->plan->lanes; i++) {
        v->done[i] = 0;
        v->further[i] = view.wait_first ? view.wait_first[i] : v->plan->lane[i].wait_first;
    }
    while (left && ran) {
        ran = 0;
        for (uint32_t i = v->plan->lanes; i-- > 0;)
            ran += run_lane(v, &view, l, f, i);
        left -= ran;
    }
    return !left;
}

/* ---- the comparison */

static int differs(const struct verify *v, uint32_t node, const char **slot)
{
    const struct rd_regions *r = v->regions;
    const struct rd_node_touches *n = &r->node[node];
    const struct run *a = &v->run[0], *b = &v->run[1];
    *slot = NULL;
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        if (a->touch[i] != b->touch[i]) {
            *slot = rd_regions_slot(r, r->touch[i].slot);
            return 1;
        }
    return a->node[node] != b->node[node];
}

static void fail(struct verify *v, struct rd_lane *l, struct rd_frame *f, uint32_t node,
                 const char *slot, const char *what)
{
    struct rd_self *self = &l->self;
    uint32_t op = v->plan->op_of_node[node];
    const struct rd_plan_lane *pl = &v->plan->lane[rd_plan_lane_of_op(v->plan, op)];
    snprintf(self->message, sizeof self->message, "%s%.60s%s%s", slot ? "slot '" : "",
             slot ? slot : "", slot ? "' " : "", what);
    self->told = 1;
    rd_frame_fail(l, f, pl->bit_first + (op - pl->first), node, 1);
}

static void compare(struct verify *v, struct rd_lane *l, struct rd_frame *f)
{
    const char *slot;
    for (uint32_t i = 0; i < v->regions->nodes; i++) {
        uint32_t node = v->regions->sequence[i];
        if (!differs(v, node, &slot))
            continue;
        fail(v, l, f, node, slot,
             slot ? "differs between interpreted and compiled"
                  : "what it can reach differs between interpreted and compiled");
        return;
    }
}

static void verify(struct verify *v, struct rd_lane *l, struct rd_frame *f)
{
    int saved = save(v, f); /* else it runs once: there is no memory to compare */
    run_recorded(v, l, f);
    if (!saved || rd_badness(l->track, f) != RD_BAD_NONE)
        return;
    restore(v);
    if (!run_compiled(v, l, f))
        fail(v, l, f, v->regions->sequence[0], NULL, "the compiled lanes wait for each other");
    if (rd_badness(l->track, f) == RD_BAD_NONE)
        compare(v, l, f);
}

enum rd_advance rd_verify_interpret(struct rd_lane *l, struct rd_frame *f, uint32_t polls)
{
    if (!(f->slow & RD_SLOW_CHECK))
        return rd_interpret(l, f, polls);
    rd_slow_waited(l);
    if (l->number == 0)
        verify((struct verify *)l->track->check, l, f);
    return RD_DONE;
}

/* ---- the check */

/* Predecessors before each node, nodes otherwise as recorded: a search in depth, its stack
 * in `stack`, of nodes whose `seen` is how many predecessors were looked at. */
static void sort(const struct verify *v, uint32_t *stack, uint32_t *seen)
{
    const struct rd_plan *p = v->plan;
    uint32_t depth, count = 0;
    memset(seen, 0, p->nodes * sizeof *seen);
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t root = v->regions->sequence[i];
        depth = 0;
        if (!seen[root]++)
            stack[depth++] = root;
        while (depth) {
            uint32_t node = stack[depth - 1], at = p->pred_first[node] + seen[node] - 1;
            if (at < p->pred_first[node + 1]) {
                uint32_t before_it = v->node_of_bit[p->pred[at]];
                seen[node]++;
                if (!seen[before_it]) {
                    seen[before_it] = 1;
                    stack[depth++] = before_it;
                }
            } else {
                v->order[count++] = node;
                depth--;
            }
        }
    }
}

static int make_orders(struct verify *v)
{
    const struct rd_plan *p = v->plan;
    struct rd_allocator *a = v->regions->alloc;
    uint32_t *stack = rd_alloc_array(a, p->nodes, sizeof *stack),
             *seen = rd_alloc_array(a, p->nodes, sizeof *seen);
    int ok = stack && seen;
    for (uint32_t l = 0; ok && l < p->lanes; l++)
        for (uint32_t i = 0; i < p->lane[l].length; i++)
            v->node_of_bit[p->lane[l].bit_first + i] = p->op[p->lane[l].first + i].node;
    if (ok)
        sort(v, stack, seen);
    rd_free_array(a, stack, p->nodes, sizeof *stack);
    rd_free_array(a, seen, p->nodes, sizeof *seen);
    return ok;
}

/* As many as find_memory finds. */
static uint32_t count_memory(const struct verify *v)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < v->regions->slots; s++) {
        uint32_t ring = 0;
        while (v->reach.buffer(v->reach.exec, s, ring))
            ring++;
        count += ring ? ring : 1;
    }
    return count;
}

static int make_arrays(struct verify *v)
{
    const struct rd_regions *r = v->regions;
    struct rd_allocator *a = r->alloc;
    int ok;
    v->order = rd_alloc_array(a, v->plan->nodes, sizeof *v->order);
    v->node_of_bit = rd_alloc_array(a, v->plan->bits, sizeof *v->node_of_bit);
    v->done = rd_alloc_array(a, v->plan->lanes, sizeof *v->done);
    v->further = rd_alloc_array(a, v->plan->lanes, sizeof *v->further);
    v->memory_room = count_memory(v);
    v->memory = rd_zalloc_array(a, v->memory_room, sizeof *v->memory);
    ok = v->order && v->node_of_bit && v->done && v->further && v->memory;
    for (int i = 0; i < 2; i++) {
        v->run[i].touch = rd_alloc_array(a, r->touches, sizeof *v->run[i].touch);
        v->run[i].node = rd_alloc_array(a, r->nodes, sizeof *v->run[i].node);
        ok = ok && v->run[i].touch && v->run[i].node;
    }
    return ok;
}

rondo_status rd_verify_new(const struct rd_regions *regions, const struct rd_plan *plan,
                           const struct rd_verify_reach *reach, struct rd_check **check)
{
    struct verify *v = rd_zalloc(regions->alloc, sizeof *v, 16);
    if (v) {
        v->check = (struct rd_check){ before, after };
        v->regions = regions;
        v->plan = plan;
        v->reach = *reach;
        if (make_arrays(v) && make_orders(v)) {
            *check = &v->check;
            return RONDO_OK;
        }
        rd_verify_free(&v->check);
    }
    return rd_error(RONDO_ERR_MEMORY, "no memory to verify replays of %u nodes", plan->nodes);
}

/* An entry is always of the same slot: rings keep their length. */
static void free_memory(struct verify *v)
{
    struct rd_allocator *a = v->regions->alloc;
    for (uint32_t i = 0; v->memory && i < v->memory_room; i++)
        if (v->memory[i].saved)
            rd_free(a, v->memory[i].saved, v->regions->bytes[v->memory[i].slot]);
    rd_free_array(a, v->memory, v->memory_room, sizeof *v->memory);
}

void rd_verify_free(struct rd_check *check)
{
    struct verify *v = (struct verify *)check;
    const struct rd_regions *r;
    struct rd_allocator *a;
    if (!v)
        return;
    r = v->regions;
    a = r->alloc;
    free_memory(v);
    rd_free_array(a, v->order, v->plan->nodes, sizeof *v->order);
    rd_free_array(a, v->node_of_bit, v->plan->bits, sizeof *v->node_of_bit);
    rd_free_array(a, v->done, v->plan->lanes, sizeof *v->done);
    rd_free_array(a, v->further, v->plan->lanes, sizeof *v->further);
    for (int i = 0; i < 2; i++) {
        rd_free_array(a, v->run[i].touch, r->touches, sizeof *v->run[i].touch);
        rd_free_array(a, v->run[i].node, r->nodes, sizeof *v->run[i].node);
    }
    rd_free(a, v, sizeof *v);
}

int rd_verify_can(const struct rd_subgraph *g, char *why, size_t bytes)
{
    static const struct {
        uint8_t flag;
        const char *what;
    } once[] = { { RONDO_HOSTED, "has a team" },
                 { RONDO_SPMD, "has a team" },
                 { RONDO_DETACHED, "is detached" },
                 { RONDO_MAY_BLOCK, "may block" } };
    for (uint32_t v = 0; v < g->nodes.count; v++) {
        const struct rd_node *n = &g->nodes.item[v];
        const char *what = n->kind == RD_NODE_WAIT        ? "waits"
                           : n->kind == RD_NODE_SIGNAL    ? "signals"
                           : rd_bound_is_device(n->bound) ? "is on a device"
                                                          : NULL;
        for (size_t i = 0; !what && i < sizeof once / sizeof once[0]; i++)
            if (rd_node_extra(g, v)->flags & once[i].flag)
                what = once[i].what;
        if (!what)
            continue;
        snprintf(why, bytes, "node '%.60s' %s", rd_subgraph_text(g, n->name), what);
        return 0;
    }
    return 1;
}
