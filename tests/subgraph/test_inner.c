/* SPDX-License-Identifier: BSD-3-Clause */
/* A subgraph recorded into another: what is copied, what its slots and parameters become, and that
 * the whole is the same as if it had been recorded there by hand. */
#include "subgraph/subgraph.h"

#include "src/event/counter.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

static int releases;
static void count_release(void *context)
{
    (void)context;
    releases++;
}

/* A recording with one of everything. */
struct part {
    rondo_subgraph h;
    struct rd_subgraph *g;
    rondo_slot u, ring, bound, near, temporary, token, flag;
    rondo_param p, event;
    rondo_node loop;
};

static rondo_runtime rt;
static rondo_buffer line, flags, ring[2];
static rondo_counter counter;

static void open_all(void)
{
    rondo_shape shape = { 8, { 64 }, { 0 } };
    releases = 0;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "line", .shape = shape }, &line);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "r0", .shape = shape }, &ring[0]);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "r1", .shape = shape }, &ring[1]);
    shape.elem_bytes = 4;
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "flags", .shape = shape }, &flags);
    rondo_counter_create(rt, 0, &counter);
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    cr_assert_eq(rondo_buffer_destroy(line), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(flags), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(ring[0]), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(ring[1]), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.subgraphs + s.buffers + s.sources, 0);
    cr_assert_eq(s.bytes, 0, "%llu bytes are left", (unsigned long long)s.bytes);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static void begin(struct part *a, const char *name, uint32_t edges)
{
    rondo_status status;
    memset(a, 0, sizeof *a);
    cr_assert_eq(
        rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = name, .flags = edges }, &a->h),
        RONDO_OK);
    a->g = rd_subgraph_get(a->h, &status);
}

static void end(struct part *a)
{
    rd_subgraph_unref(a->g);
    cr_assert_eq(rondo_subgraph_destroy(a->h), RONDO_OK);
}

#define SLOT(a, ...) rondo_subgraph_slot((a)->h, &(rondo_slot_desc){ __VA_ARGS__ })
#define TASK(a, ...) rondo_record_task((a)->h, &(rondo_task_desc){ .fn = nothing, __VA_ARGS__ })

static void make_places(struct part *a)
{
    rondo_shape shape = { 8, { 64 }, { 0 } };
    int32_t seven = 7;
    a->u = SLOT(a, .name = "u", .buffer = line);
    a->ring = SLOT(a, .name = "turn", .ring = ring, .ring_count = 2);
    a->bound = SLOT(a, .name = "bound", .shape = shape);
    a->near = SLOT(a, .name = "near", .shape = shape, .alias_of = a->bound);
    a->temporary = SLOT(a, .name = "t", .shape = shape, .flags = RONDO_TEMPORARY | RONDO_ZEROED);
    a->token = SLOT(a, .name = "o", .shape = { 0, { 4 }, { 0 } });
    a->flag = SLOT(a, .name = "flag", .buffer = flags);
    a->p = rondo_subgraph_param(a->h, "p", 4, &seven);
    a->event = rondo_subgraph_param(a->h, "e", sizeof(rondo_event), NULL);
}

static void make_nodes(struct part *a)
{
    uint64_t arg[2] = { 11, 22 };
    rondo_access chunk = rondo_chunk(a->u, RONDO_WRITE, 0, 0);
    rondo_task_desc task = { .name = "f", .fn = nothing, .accesses = &chunk, .access_count = 1 };
    rondo_node first =
        TASK(a, .name = "first", .tag = 5, RONDO_ARG(arg), .context = arg, .release = count_release,
             RONDO_PARAMS(a->p), RONDO_PATCHES({ a->p, 0, 8, 4, 0 }), .flags = RONDO_MAY_STOP,
             .when = { a->p, a->flag, 0, 0 }, .cost_ns = 100, .priority = 3,
             RONDO_ACCESSES(rondo_read(a->ring, rondo_span(8, 8)),
                            rondo_commute(a->token, rondo_whole())));
    a->loop = rondo_record_for(
        a->h, &(rondo_for_desc){ .task = &task, .range = rondo_span(0, 64), .chunks = { 4 } });
    TASK(a, .name = "all");
    TASK(a, .name = "bound", .flags = RONDO_SPMD, .team = 2,
         RONDO_ACCESSES(rondo_read_write(a->bound, rondo_span(0, 4)),
                        rondo_read(a->near, rondo_whole()),
                        rondo_write(a->temporary, rondo_whole())));
    rondo_record_copy(a->h,
                      &(rondo_move_desc){ .from = rondo_access_of(a->u, 0, rondo_whole()),
                                          .to = rondo_access_of(a->bound, 0, rondo_whole()) });
    rondo_record_wait(a->h, &(rondo_sync_desc){ .counter = counter, .first = 1, .step = 1 });
    rondo_record_wait(a->h, &(rondo_sync_desc){ .event = a->event });
    rondo_record_call(a->h, "call", no_call, NULL);
    rondo_record_edge(a->h, a->loop, first, 2);
}

enum { NODES = 11 };

static void make(struct part *a, const char *name, uint32_t edges)
{
    begin(a, name, edges);
    make_places(a);
    make_nodes(a);
    cr_assert_eq(rondo_subgraph_status(a->h), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(a->g->nodes.count, NODES);
}

static int same_slot(const struct rd_slot *a, const struct rd_slot *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->count == b->count &&
           a->zeroed == b->zeroed && a->ring_stride == b->ring_stride &&
           !memcmp(&a->shape, &b->shape, sizeof a->shape) &&
           (!a->count || !memcmp(a->buffers, b->buffers, a->count * sizeof *a->buffers));
}

/* Slot `s` of node k's access i, as the outer recording has it, is what the inner one's is. */
static void compare_accesses(const struct part *in, const struct part *out, uint32_t v, uint32_t w)
{
    const struct rd_node *a = &in->g->nodes.item[v], *b = &out->g->nodes.item[w];
    cr_assert_eq(a->access_count, b->access_count);
    for (uint32_t i = 0; i < a->access_count; i++) {
        const struct rd_access *x = &in->g->accesses.item[a->access + i],
                               *y = &out->g->accesses.item[b->access + i];
        const struct rd_slot *s = &in->g->slots.item[x->slot], *t = &out->g->slots.item[y->slot];
        cr_assert(x->mode == y->mode && x->box_count == y->box_count && x->type == y->type);
        cr_assert(!memcmp(&in->g->boxes.item[x->box], &out->g->boxes.item[y->box],
                          (x->box_count + 1) * sizeof(rd_box)));
        cr_assert(same_slot(s, t));
        cr_assert_str_eq(rd_subgraph_text(in->g, s->name), rd_subgraph_text(out->g, t->name));
        cr_assert_str_eq(rd_subgraph_text(in->g, in->g->slots.item[s->alias].name),
                         rd_subgraph_text(out->g, out->g->slots.item[t->alias].name));
    }
}

static void compare_rest(const struct part *in, const struct part *out, uint32_t v, uint32_t w)
{
    const struct rd_node *a = &in->g->nodes.item[v], *b = &out->g->nodes.item[w];
    const struct rd_extra *e = rd_node_extra(in->g, v), *f = rd_node_extra(out->g, w);
    cr_assert(a->fn == b->fn && a->tag == b->tag && a->cost_ns == b->cost_ns);
    cr_assert(a->priority == b->priority && a->bound == b->bound && a->kind == b->kind);
    cr_assert_eq(a->everything, b->everything);
    cr_assert_eq(a->arg_bytes, b->arg_bytes);
    cr_assert_eq(b->arg % 16, 0);
    cr_assert(!memcmp(in->g->args.item + a->arg, out->g->args.item + b->arg, a->arg_bytes));
    cr_assert(!memcmp(&in->g->chunks.item[a->chunk], &out->g->chunks.item[b->chunk],
                      sizeof(rondo_region)));
    cr_assert_eq(!a->holder, !b->holder);
    if (a->holder)
        cr_assert(in->g->holders.item[a->holder - 1] == out->g->holders.item[b->holder - 1]);
    cr_assert(a->param_count == b->param_count && a->patch_count == b->patch_count);
    for (uint32_t i = 0; i < a->param_count; i++)
        cr_assert_str_eq(
            rd_subgraph_text(in->g, in->g->params.item[in->g->param_uses.item[a->param + i]].name),
            rd_subgraph_text(out->g,
                             out->g->params.item[out->g->param_uses.item[b->param + i]].name));
    for (uint32_t i = 0; i < a->patch_count; i++)
        cr_assert_eq(out->g->patches.item[b->patch + i].to, in->g->patches.item[a->patch + i].to);
    cr_assert(e->flags == f->flags && e->team == f->team && e->stop_lag == f->stop_lag);
    cr_assert_eq(e->when_count, f->when_count);
    cr_assert_eq(!e->sync, !f->sync);
    if (e->sync) {
        const struct rd_sync *x = &in->g->syncs.item[e->sync - 1],
                             *y = &out->g->syncs.item[f->sync - 1];
        cr_assert(x->counter == y->counter && x->first == y->first && x->step == y->step);
        if (!x->counter)
            cr_assert_str_eq(rd_subgraph_text(in->g, in->g->params.item[x->event].name),
                             rd_subgraph_text(out->g, out->g->params.item[y->event].name));
    }
}

static void compare(const struct part *in, const struct part *out, uint32_t first)
{
    char name[64];
    for (uint32_t v = 0; v < in->g->nodes.count; v++) {
        compare_accesses(in, out, v, first + v);
        compare_rest(in, out, v, first + v);
        snprintf(name, sizeof name, "step/%s", rd_subgraph_text(in->g, in->g->nodes.item[v].name));
        cr_assert_str_eq(rd_subgraph_text(out->g, out->g->nodes.item[first + v].name), name);
    }
}

Test(inner, everything_is_copied)
{
    struct part in, out;
    rondo_node node, before, after;
    const struct rd_group *group;
    size_t slots, params;
    open_all();
    make(&in, "step", 0);
    begin(&out, "outer", 0);
    before = TASK(&out, .name = "before", .arg = "abc", .arg_bytes = 3, .flags = RONDO_NO_ACCESS);
    node = rondo_record_subgraph(out.h, in.h,
                                 &(rondo_inner_desc){ .after = &before, .after_count = 1 });
    cr_assert(node.id, "%s", rondo_error_message());
    compare(&in, &out, 1);
    slots = out.g->slots.count;
    params = out.g->params.count;
    cr_assert_eq(slots, in.g->slots.count);
    cr_assert_eq(params, 2);
    cr_assert_eq(out.g->params_initial.item[out.g->params.item[0].offset], 7);
    cr_assert_eq(out.g->edges.count, NODES + 4);
    cr_assert(out.g->edges.item[0].from == 2 && out.g->edges.item[0].to == 1 &&
              out.g->edges.item[0].distance == 2);
    group = &out.g->groups.item[out.g->groups.count - 1];
    cr_assert(group->first == 1 && group->count == NODES);
    /* A second time: the same slots and parameters, tokens and temporaries included. */
    after = rondo_record_subgraph(out.h, in.h, NULL);
    cr_assert(after.id, "%s", rondo_error_message());
    compare(&in, &out, 1 + NODES);
    cr_assert_eq(out.g->slots.count, slots);
    cr_assert_eq(out.g->params.count, params);
    cr_assert_eq(rondo_record_edge(out.h, node, after, 0), RONDO_OK);
    end(&in);
    cr_assert_eq(releases, 0);
    end(&out);
    cr_assert_eq(releases, 1);
    close_all();
}

/* The parts' handles of the inner subgraph are found in the outer one's list, wherever they come
 * from, and mean one thing each. */
static uint32_t outer_of(const struct part *out, uint64_t id)
{
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; i < out->g->inner.count; i++) {
        const struct rd_inner_part *p = &out->g->inner.item[i];
        if (rd_part_id(p->serial, (enum rd_part)p->part, p->inner) != id)
            continue;
        cr_assert_eq(found, UINT32_MAX, "named twice");
        found = p->outer;
    }
    return found;
}

Test(inner, handles_name_the_outer_parts)
{
    struct part in, middle, out, other;
    uint32_t bound, p;
    rondo_slot x;
    open_all();
    make(&in, "in", 0);
    begin(&middle, "middle", 0);
    x = SLOT(&middle, .name = "x", .shape = { 8, { 64 }, { 0 } });
    cr_assert(rondo_record_subgraph(middle.h, in.h, NULL).id, "%s", rondo_error_message());
    begin(&out, "out", 0);
    SLOT(&out, .name = "y", .shape = { 8, { 64 }, { 0 } });
    cr_assert(rondo_record_subgraph(out.h, middle.h, NULL).id, "%s", rondo_error_message());
    cr_assert_neq(outer_of(&out, x.id), UINT32_MAX);
    bound = outer_of(&out, in.bound.id);
    p = outer_of(&out, in.p.id);
    cr_assert_str_eq(rd_subgraph_text(out.g, out.g->slots.item[bound].name), "bound");
    cr_assert_str_eq(rd_subgraph_text(out.g, out.g->params.item[p].name), "p");
    cr_assert_str_eq(rd_subgraph_text(out.g, out.g->nodes.item[0].name), "middle/in/first");
    /* Recorded directly as well, and by way of a third: the same parts. */
    cr_assert(rondo_record_subgraph(out.h, in.h, NULL).id, "%s", rondo_error_message());
    begin(&other, "other", 0);
    cr_assert(rondo_record_subgraph(other.h, in.h, NULL).id, "%s", rondo_error_message());
    cr_assert(rondo_record_subgraph(out.h, other.h, NULL).id, "%s", rondo_error_message());
    cr_assert_eq(outer_of(&out, in.bound.id), bound);
    cr_assert_eq(outer_of(&out, in.p.id), p);
    cr_assert_eq(out.g->slots.count, 2 + in.g->slots.count);
    cr_assert_eq(out.g->params.count, in.g->params.count);
    end(&in);
    end(&middle);
    end(&other);
    end(&out);
    close_all();
}

/* A mapped slot is the outer one; aliases stay aliases; a condition is added to each node. */
Test(inner, maps_and_conditions)
{
    struct part in, out;
    rondo_slot mine, when;
    rondo_slot_map map[2];
    const struct rd_extra *e;
    const struct rd_node *n;
    uint32_t i, near;
    open_all();
    make(&in, "step", 0);
    begin(&out, "outer", 0);
    when = SLOT(&out, .name = "when", .buffer = flags);
    mine = SLOT(&out, .name = "mine", .buffer = ring[0]);
    map[0] = (rondo_slot_map){ in.bound, mine };
    cr_assert(rondo_record_subgraph(
                  out.h, in.h,
                  &(rondo_inner_desc){
                      .name = "n", .map = map, .map_count = 1, .when = { { 0 }, when, 5, 1 } })
                  .id,
              "%s", rondo_error_message());
    cr_assert_eq(out.g->slots.count, 2 + in.g->slots.count - 1);
    cr_assert_eq(outer_of(&out, in.bound.id), UINT32_MAX);
    near = outer_of(&out, in.near.id);
    cr_assert_eq(out.g->slots.item[near].alias, 1);
    for (i = 0; i < NODES; i++) {
        n = &out.g->nodes.item[i];
        e = rd_node_extra(out.g, i);
        cr_assert_eq(e->when_count, 1 + rd_node_extra(in.g, i)->when_count);
        const struct rd_when *w = &out.g->whens.item[e->when + e->when_count - 1];
        cr_assert(w->flag == 1 && w->every == 5 && w->phase == 1 && !w->param);
        cr_assert_eq(n->access_count, in.g->nodes.item[i].access_count + 1);
        cr_assert_eq(out.g->accesses.item[n->access + n->access_count - 1].slot, 0);
    }
    e = rd_node_extra(out.g, 0);
    cr_assert_eq(out.g->whens.item[e->when].param, outer_of(&out, in.p.id) + 1);
    cr_assert_eq(out.g->whens.item[e->when].flag, outer_of(&out, in.flag.id) + 1);
    end(&in);
    end(&out);
    close_all();
}

/* The edges of the nested recording are those of the same calls made directly, twice over. */
Test(inner, the_same_graph)
{
    struct part in, nested, flat;
    struct rd_graph a, b;
    open_all();
    for (int edges = 0; edges < 2; edges++) {
        begin(&in, "in", 0);
        in.u = SLOT(&in, .name = "u", .buffer = line);
        begin(&nested, "nested", edges ? RONDO_EDGES_EXPLICIT : 0);
        begin(&flat, "flat", edges ? RONDO_EDGES_EXPLICIT : 0);
        flat.u = SLOT(&flat, .name = "u", .buffer = line);
        for (int k = 0; k < 3; k++) {
            struct part *to = k ? &flat : &in;
            rondo_node w = TASK(to, RONDO_ACCESSES(rondo_write(to->u, rondo_span(0, 8))));
            rondo_node r =
                TASK(to, RONDO_AFTER(w), RONDO_ACCESSES(rondo_read(to->u, rondo_whole())));
            rondo_node all = TASK(to, .name = "all", RONDO_AFTER(r));
            if (k == 2) /* the second copy behind the first */
                for (uint32_t i = 3; i < 6; i++)
                    for (uint32_t j = 0; j < 3; j++)
                        rondo_record_edge(
                            flat.h, (rondo_node){ rd_part_id(flat.g->serial, RD_PART_NODE, j) },
                            (rondo_node){ rd_part_id(flat.g->serial, RD_PART_NODE, i) }, 0);
            cr_assert(all.id);
        }
        rondo_node one = rondo_record_subgraph(nested.h, in.h, NULL);
        rondo_node two = rondo_record_subgraph(
            nested.h, in.h, &(rondo_inner_desc){ .after = &one, .after_count = 1 });
        cr_assert(one.id && two.id, "%s", rondo_error_message());
        cr_assert_eq(rd_subgraph_analyse(nested.g, !edges, &a), RONDO_OK, "%s",
                     rondo_error_message());
        cr_assert_eq(rd_subgraph_analyse(flat.g, !edges, &b), RONDO_OK, "%s",
                     rondo_error_message());
        cr_assert_eq(a.nodes, 6);
        cr_assert(!memcmp(a.first, b.first, 7 * sizeof *a.first));
        for (uint32_t i = 0; i < a.first[6]; i++)
            cr_assert(a.pred[i].from == b.pred[i].from && a.pred[i].distance == b.pred[i].distance);
        rd_graph_free(&nested.g->rt->alloc, &a);
        rd_graph_free(&nested.g->rt->alloc, &b);
        end(&in);
        end(&nested);
        end(&flat);
    }
    close_all();
}

static void refused(struct part *out, struct part *in, const rondo_inner_desc *d,
                    const char *message)
{
    size_t before[] = { out->g->slots.count,   out->g->params.count,  out->g->nodes.count,
                        out->g->holders.count, out->g->syncs.count,   out->g->extras.count,
                        out->g->whens.count,   out->g->inner.count,   out->g->groups.count,
                        out->g->edges.count,   out->g->accesses.count };
    cr_assert_eq(rondo_record_subgraph(out->h, in->h, d).id, 0, "accepted: %s", message);
    cr_assert_str_eq(rondo_error_message(), message);
    size_t after[] = { out->g->slots.count,   out->g->params.count,  out->g->nodes.count,
                       out->g->holders.count, out->g->syncs.count,   out->g->extras.count,
                       out->g->whens.count,   out->g->inner.count,   out->g->groups.count,
                       out->g->edges.count,   out->g->accesses.count };
    cr_assert(!memcmp(before, after, sizeof after), "something is left: %s", message);
    cr_assert_eq(rondo_subgraph_clear_error(out->h), RONDO_OK);
}

/* Refused late, when most has been copied already: all of it is taken back. */
Test(inner, refusals_leave_nothing)
{
    struct part in, out, small;
    rondo_slot_map map[2];
    rondo_node none = { 0 };
    open_all();
    make(&in, "step", 0);
    begin(&out, "outer", 0);
    begin(&small, "small", 0);
    rondo_slot one = SLOT(&out, .name = "one", .buffer = line),
               other = SLOT(&out, .name = "other", .shape = { 8, { 64 }, { 0 } }),
               token = SLOT(&out, .name = "token", .shape = { 0, { 64 }, { 0 } });
    refused(&out, &in, &(rondo_inner_desc){ .after = &none, .after_count = 1 },
            "node 'step': after[0]: the node handle is {0}");
    refused(&out, &in, &(rondo_inner_desc){ .name = "n", .when = { .phase = 1 } },
            "node 'n': when.phase is 1, when.every 0");
    refused(&out, &in, &(rondo_inner_desc){ .map_count = 1 },
            "node 'step': map is NULL, map_count 1");
    refused(&out, &small, NULL, "node 'small': subgraph 'small' has no nodes");
    refused(&out, &out, NULL, "node 'outer': subgraph 'outer' is recorded into itself");
    map[0] = (rondo_slot_map){ in.u, other };
    map[1] = (rondo_slot_map){ in.u, one };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 2 },
            "node 'step': map[1]: slot 'u' is mapped twice");
    map[0] = (rondo_slot_map){ in.flag, one };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 1 },
            "node 'step': map[0]: slot 'flag' is 64x1x1 elements of 4 bytes, slot 'one' 64x1x1 of "
            "8 (pitches included)");
    map[0] = (rondo_slot_map){ in.u, token };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 1 },
            "node 'step': map[0]: of slots 'u' and 'token' one is a token");
    map[0] = (rondo_slot_map){ in.temporary, one };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 1 },
            "node 'step': map[0]: slot 't' is RONDO_ZEROED, slot 'one' is not");
    map[0] = (rondo_slot_map){ in.u, one };
    map[1] = (rondo_slot_map){ in.bound, one };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 2 },
            "node 'step/copy': from (slot 'one') and to (slot 'one') overlap");
    in.g->error = RONDO_ERR_INVALID;
    strcpy(in.g->error_message, "what was wrong");
    refused(&out, &in, NULL, "node 'step': subgraph 'step' has an error: what was wrong");
    in.g->error = RONDO_OK;
    cr_assert(rondo_record_subgraph(out.h, in.h, NULL).id, "%s", rondo_error_message());
    /* The class of 'near' is what it was: an alias of the outer 'bound', not of 'one'. */
    map[0] = (rondo_slot_map){ in.bound, other };
    refused(&out, &in, &(rondo_inner_desc){ .map = map, .map_count = 1 },
            "node 'step': slot 'near' is an alias of slots that are mapped to slots which are no "
            "aliases of it or of each other");
    end(&in);
    end(&small);
    end(&out);
    cr_assert_eq(releases, 1);
    close_all();
}
