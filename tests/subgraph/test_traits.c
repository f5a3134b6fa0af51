/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recording holds of conditions, teams, reductions, tokens, temporaries, waits and signals;
 * what of them only a whole recording can get wrong; how they are drawn. */
#include "subgraph/subgraph.h"

#include "src/event/counter.h"

#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <string.h>

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}
static void no_call(void *context) { (void)context; }

static rondo_runtime rt;
static rondo_subgraph h;
static struct rd_subgraph *g;
static rondo_buffer line;
static rondo_slot u, flag, temporary, zeroed, token;
static rondo_param p, event_param;
static rondo_counter counter;

static void open_all(uint32_t flags)
{
    rondo_status status;
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK);
    cr_assert_eq(
        rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g", .flags = flags }, &h),
        RONDO_OK);
    g = rd_subgraph_get(h, &status);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .name = "line", .shape = { 8, { 64 }, { 0 } } },
                        &line);
    rondo_counter_create(rt, 0, &counter);
    u = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "u", .buffer = line });
    flag =
        rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "flag", .shape = { 4, { 2 }, { 0 } } });
    temporary = rondo_subgraph_slot(
        h,
        &(rondo_slot_desc){ .name = "t", .shape = { 8, { 64 }, { 0 } }, .flags = RONDO_TEMPORARY });
    zeroed = rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "z",
                                                        .shape = { 8, { 64 }, { 0 } },
                                                        .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    token =
        rondo_subgraph_slot(h, &(rondo_slot_desc){ .name = "o", .shape = { 0, { 3, 2 }, { 0 } } });
    p = rondo_subgraph_param(h, "p", 4, NULL);
    event_param = rondo_subgraph_param(h, "e", sizeof(rondo_event), NULL);
    cr_assert(u.id && flag.id && temporary.id && zeroed.id && token.id && p.id && event_param.id,
              "%s", rondo_error_message());
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    rd_subgraph_unref(g);
    cr_assert_eq(rondo_subgraph_destroy(h), RONDO_OK);
    cr_assert_eq(rondo_buffer_destroy(line), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert_eq(s.subgraphs + s.buffers + s.sources, 0);
    cr_assert_eq(s.bytes, 0);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static const struct rd_node *last_node(void) { return &g->nodes.item[g->nodes.count - 1]; }
static const struct rd_extra *last_extra(void)
{
    return rd_node_extra(g, (uint32_t)g->nodes.count - 1);
}
static uint32_t index_of(uint64_t handle) { return ((uint32_t)handle & 0x3fffffff) - 1; }

#define TASK(...) \
    rondo_record_task(h, &(rondo_task_desc){ .name = "t", .fn = nothing, __VA_ARGS__ })

/* Nodes without traits have no record of them; equal ones in a row share theirs. */
Test(traits, flags_and_conditions)
{
    rondo_when when;
    const struct rd_when *w;
    const struct rd_access *a;
    uint32_t extra;
    open_all(0);
    when = (rondo_when){ p, flag, 3, 2 };
    cr_assert(TASK(.flags = RONDO_NO_ACCESS).id);
    cr_assert_eq(last_node()->extra, 0);
    cr_assert(TASK(.flags = RONDO_SPMD | RONDO_MAY_STOP, .team = 3, .stop_lag = 254).id);
    cr_assert_eq(last_extra()->flags, RONDO_SPMD | RONDO_MAY_STOP);
    cr_assert_eq(last_extra()->team, 3);
    cr_assert_eq(last_extra()->stop_lag, 254);
    cr_assert_eq(last_node()->everything, 1);
    cr_assert(TASK(.flags = RONDO_HOSTED | RONDO_NO_ACCESS).id);
    cr_assert_eq(last_extra()->flags, RONDO_HOSTED);
    cr_assert_eq(last_node()->everything, 0);
    cr_assert(rondo_record_call(h, "c", no_call, NULL).id);
    cr_assert_eq(last_extra()->flags, RONDO_HOSTED);
    cr_assert_eq(last_extra()->team, 0);
    cr_assert_eq(last_node()->everything, 2);
    extra = last_node()->extra;
    cr_assert(rondo_record_call(h, "c", no_call, NULL).id);
    cr_assert_eq(last_node()->extra, extra);

    cr_assert(TASK(.when = when, RONDO_ACCESSES(rondo_write(u, rondo_whole()))).id);
    w = &g->whens.item[last_extra()->when];
    cr_assert_eq(last_extra()->when_count, 1);
    cr_assert_eq(w->param, index_of(p.id) + 1);
    cr_assert_eq(w->flag, index_of(flag.id) + 1);
    cr_assert(w->every == 3 && w->phase == 2);
    cr_assert_eq(last_node()->access_count, 2);
    a = &g->accesses.item[last_node()->access + 1];
    cr_assert(a->slot == index_of(flag.id) && a->mode == RONDO_READ && !a->box_count);
    cr_assert_eq(g->boxes.item[a->box].first[0], 0);
    cr_assert_eq(g->boxes.item[a->box].count[0], 1);
    extra = last_node()->extra;
    cr_assert(TASK(.when = when, .flags = RONDO_NO_ACCESS).id);
    cr_assert_eq(last_node()->extra, extra);
    cr_assert_eq(g->whens.count, 1);
    cr_assert_eq(last_node()->access_count, 1);
    cr_assert(TASK(.when = { .every = 1 }).id, "%s", rondo_error_message());
    cr_assert_eq(last_node()->extra, 0, "every replay is no condition");
    close_all();
}

/* The chunks of a loop share their condition; the flag is behind each one's accesses. */
Test(traits, loops_and_moves)
{
    double one = 1;
    rondo_task_desc task = { .name = "f", .fn = nothing, .when = { .flag = flag } };
    rondo_for_desc loop = { .task = &task, .range = rondo_span(0, 8), .chunks = { 4 } };
    const struct rd_node *n;
    uint32_t i;
    open_all(0);
    task.when.flag = flag;
    task.accesses = &(rondo_access){ 0 };
    rondo_access chunk = rondo_chunk(u, RONDO_WRITE, 0, 0);
    task.accesses = &chunk;
    task.access_count = 1;
    cr_assert(rondo_record_for(h, &loop).id, "%s", rondo_error_message());
    n = last_node() - 3;
    for (i = 0; i < 4; i++) {
        cr_assert_eq(n[i].extra, n[0].extra);
        cr_assert_eq(n[i].access_count, 2);
        cr_assert_eq(g->accesses.item[n[i].access].slot, index_of(u.id));
        cr_assert_eq(g->accesses.item[n[i].access + 1].slot, index_of(flag.id));
    }
    task.access_count = 0;
    cr_assert(rondo_record_for(h, &loop).id, "%s", rondo_error_message());
    n = last_node() - 3;
    for (i = 0; i < 4; i++)
        cr_assert(n[i].access_count == 1 && n[i].everything == 1);

    rondo_move_desc move = { .from = rondo_access_of(u, 0, rondo_span(0, 8)),
                             .to = rondo_access_of(u, 0, rondo_span(8, 8)),
                             .when = { .flag = flag } };
    cr_assert(rondo_record_copy(h, &move).id, "%s", rondo_error_message());
    cr_assert_eq(last_node()->access_count, 3);
    cr_assert_eq(g->accesses.item[last_node()->access + 2].slot, index_of(flag.id));
    move = (rondo_move_desc){ .to = move.to, .when = move.when, .value = &one, .value_bytes = 8 };
    cr_assert(rondo_record_fill(h, &move).id, "%s", rondo_error_message());
    cr_assert_eq(last_node()->access_count, 2);
    close_all();
}

Test(traits, allreduce)
{
    rondo_move_desc move = { .from = rondo_access_of(u, 0, rondo_span(0, 8)),
                             .to = rondo_access_of(u, 0, rondo_span(8, 8)),
                             .type = RONDO_F64,
                             .op = RONDO_MAX };
    open_all(0);
    move.from.slot = move.to.slot = u;
    cr_assert(rondo_record_allreduce(h, &move).id, "%s", rondo_error_message());
    cr_assert_eq(last_node()->kind, RD_NODE_ALLREDUCE);
    cr_assert(last_node()->fn == rd_move_copy);
    cr_assert_eq(last_node()->access_count, 2);
    cr_assert_str_eq(rd_subgraph_text(g, last_node()->name), "allreduce");
    move.to = (rondo_access){ 0 };
    cr_assert(rondo_record_allreduce(h, &move).id, "%s", rondo_error_message());
    cr_assert(last_node()->fn == rd_move_none);
    cr_assert_eq(last_node()->access_count, 1);
    cr_assert_eq(g->accesses.item[last_node()->access].mode, RONDO_READ_WRITE);
    close_all();
}

/* A token's elements have addresses of their own, where no memory is. */
Test(traits, tokens_and_temporaries)
{
    const struct rd_slot *o, *second;
    rondo_slot more;
    open_all(0);
    o = &g->slots.item[index_of(token.id)];
    cr_assert_eq(o->kind, RD_SLOT_TOKEN);
    cr_assert(o->bytes == 6 && o->shape.elem_bytes == 1 && o->count == 0);
    cr_assert_geq(o->token_base, 1ull << 62);
    more = rondo_subgraph_slot(h, &(rondo_slot_desc){ .shape = { 0, { 1ll << 40 }, { 0 } } });
    cr_assert(more.id, "%s", rondo_error_message());
    o = &g->slots.item[index_of(token.id)];
    second = &g->slots.item[index_of(more.id)];
    cr_assert_geq(second->token_base, o->token_base + o->bytes);
    cr_assert_eq(g->slots.item[index_of(temporary.id)].kind, RD_SLOT_TEMPORARY);
    cr_assert(!g->slots.item[index_of(temporary.id)].zeroed);
    cr_assert(g->slots.item[index_of(zeroed.id)].zeroed);
    cr_assert(TASK(RONDO_ACCESSES(rondo_commute(token, rondo_box(1, 0, 2, 2)),
                                  rondo_reduce(zeroed, rondo_span(2, 4), RONDO_I32, RONDO_MIN)))
                  .id,
              "%s", rondo_error_message());
    cr_assert_eq(g->accesses.item[last_node()->access].mode, RONDO_COMMUTE);
    cr_assert_eq(g->accesses.item[last_node()->access + 1].mode, RONDO_REDUCE);
    cr_assert_eq(g->accesses.item[last_node()->access + 1].type, RONDO_I32);
    cr_assert_eq(g->accesses.item[last_node()->access + 1].op, RONDO_MIN);
    close_all();
}

/* A node keeps its counter alive when its handle is gone. */
Test(traits, waits_and_signals)
{
    rondo_node wait;
    uint64_t value;
    const struct rd_sync *s;
    open_all(0);
    wait = rondo_record_wait(
        h, &(rondo_sync_desc){ .counter = counter, .first = 5, .step = 2, .tag = 9 });
    cr_assert(wait.id, "%s", rondo_error_message());
    s = &g->syncs.item[last_extra()->sync - 1];
    cr_assert_eq(last_node()->kind, RD_NODE_WAIT);
    cr_assert_eq(last_node()->access_count + last_node()->everything, 0);
    cr_assert(s->counter && s->first == 5 && s->step == 2);
    cr_assert(
        rondo_record_wait(h, &(rondo_sync_desc){ .event = event_param, .when = { .flag = flag } })
            .id,
        "%s", rondo_error_message());
    s = &g->syncs.item[last_extra()->sync - 1];
    cr_assert(!s->counter && s->event == index_of(event_param.id));
    cr_assert_eq(last_node()->access_count, 1);
    cr_assert(rondo_record_signal(
                  h, &(rondo_sync_desc){ .counter = counter, .step = 1, RONDO_AFTER(wait) })
                  .id,
              "%s", rondo_error_message());
    cr_assert_eq(last_node()->kind, RD_NODE_SIGNAL);
    cr_assert_eq(g->edges.count, 1);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    cr_assert_eq(rondo_counter_value(counter, &value), RONDO_ERR_STALE);
    rd_counter_raise(s->counter ? s->counter : g->syncs.item[0].counter, 3);
    cr_assert_eq(rd_counter_value(g->syncs.item[0].counter), 3);
    cr_assert_eq(rondo_counter_create(rt, 0, &counter), RONDO_OK);
    close_all();
}

/* ---- what only the whole shows */

static void analysed(const char *message)
{
    struct rd_graph graph;
    rondo_status status = rd_subgraph_analyse(g, 0, &graph);
    cr_assert_eq(status, message ? RONDO_ERR_INVALID : RONDO_OK, "%s", rondo_error_message());
    if (message)
        cr_assert_str_eq(rondo_error_message(), message);
    else
        rd_graph_free(&g->rt->alloc, &graph);
}

#define UNWRITTEN(node)                                                                            \
    "node '" node "': access 0 reads slot 't', which is RONDO_TEMPORARY and has not been written " \
    "before in the replay"

Test(traits, a_temporary_is_written_first)
{
    open_all(0);
    TASK(RONDO_ACCESSES(rondo_read(zeroed, rondo_whole())));
    TASK(RONDO_ACCESSES(rondo_write(temporary, rondo_whole())));
    TASK(RONDO_ACCESSES(rondo_read(temporary, rondo_whole())));
    analysed(NULL);
    close_all();
    open_all(0);
    TASK(RONDO_ACCESSES(rondo_reduce(temporary, rondo_whole(), RONDO_F64, RONDO_SUM)));
    TASK(RONDO_ACCESSES(rondo_read(temporary, rondo_whole())));
    analysed(NULL);
    close_all();
    open_all(0);
    TASK(RONDO_ACCESSES(rondo_read_write(temporary, rondo_whole())));
    analysed(UNWRITTEN("t"));
    close_all();
    open_all(0);
    TASK(RONDO_ACCESSES(rondo_read(temporary, rondo_whole())));
    TASK(RONDO_ACCESSES(rondo_write(temporary, rondo_whole())));
    analysed(UNWRITTEN("t"));
    close_all();
}

/* The flag of a condition is read, whatever else the node touches. */
Test(traits, a_flag_is_read)
{
    rondo_when when;
    struct rd_graph graph;
    double zero = 0;
    rondo_buffer buffer;
    rondo_slot real;
    open_all(0);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 2 }, { 0 } } }, &buffer);
    real = rondo_subgraph_slot(h, &(rondo_slot_desc){ .buffer = buffer });
    when = (rondo_when){ .flag = real };
    TASK(RONDO_ACCESSES(rondo_write(real, rondo_span(0, 1))));                    /* 0 */
    TASK(.flags = RONDO_NO_ACCESS, .when = when);                                 /* 1 */
    rondo_record_wait(h, &(rondo_sync_desc){ .counter = counter, .when = when }); /* 2 */
    TASK(RONDO_ACCESSES(rondo_write(real, rondo_span(1, 1)))); /* 3: another element */
    TASK(.when = when);                                        /* 4: touches everything */
    rondo_record_fill(h, &(rondo_move_desc){ .to = rondo_access_of(real, 0, rondo_whole()),
                                             .value = &zero,
                                             .value_bytes = 8 }); /* 5 */
    cr_assert_eq(rondo_subgraph_status(h), RONDO_OK, "%s", rondo_error_message());
    cr_assert_eq(rd_subgraph_analyse(g, 1, &graph), RONDO_OK, "%s", rondo_error_message());
    static const uint8_t before[6][6] = { { 0 }, { 1 },          { 1 },
                                          { 0 }, { 0, 1, 1, 1 }, { 0, 0, 0, 0, 1 } };
    for (uint32_t v = 0; v < 6; v++)
        for (uint32_t u_ = 0; u_ < 6; u_++) {
            int found = 0;
            for (uint32_t i = graph.first[v]; i < graph.first[v + 1]; i++)
                found |= graph.pred[i].from == u_ && !graph.pred[i].distance;
            if (before[v][u_])
                cr_assert(found, "%u does not precede %u", u_, v);
            else if (v < 4)
                cr_assert(!found, "%u precedes %u", u_, v);
        }
    rd_graph_free(&g->rt->alloc, &graph);
    cr_assert_eq(rondo_buffer_destroy(buffer), RONDO_OK);
    close_all();
}

/* Where edges are explicit they say what comes first, not the recording. */
Test(traits, a_temporary_is_written_first_by_edges)
{
    rondo_node read, write;
    open_all(RONDO_EDGES_EXPLICIT);
    read = TASK(RONDO_ACCESSES(rondo_read(temporary, rondo_whole())));
    write = TASK(RONDO_ACCESSES(rondo_write(temporary, rondo_whole())));
    cr_assert_eq(rondo_record_edge(h, write, read, 0), RONDO_OK);
    analysed(NULL);
    close_all();
    open_all(RONDO_EDGES_EXPLICIT);
    write = TASK(RONDO_ACCESSES(rondo_write(temporary, rondo_whole())));
    read = rondo_record_task(
        h, &(rondo_task_desc){ .name = "early",
                               .fn = nothing,
                               RONDO_ACCESSES(rondo_read(temporary, rondo_whole())) });
    cr_assert_eq(rondo_record_edge(h, read, write, 0), RONDO_OK);
    analysed(UNWRITTEN("early"));
    close_all();
}

static char text[4096];
static void append(void *context, const char *piece)
{
    (void)context;
    strncat(text, piece, sizeof text - strlen(text) - 1);
}

Test(traits, dot)
{
    open_all(0);
    rondo_record_task(
        h, &(rondo_task_desc){
               .name = "team", .fn = nothing, .team = 2, .flags = RONDO_SPMD | RONDO_NO_ACCESS });
    rondo_record_task(h, &(rondo_task_desc){ .name = "some",
                                             .fn = nothing,
                                             .flags = RONDO_DETACHED | RONDO_NO_ACCESS,
                                             .when = { p, { 0 }, 4, 1 } });
    rondo_record_wait(h, &(rondo_sync_desc){ .counter = counter, .first = 5, .step = 2 });
    rondo_record_wait(h, &(rondo_sync_desc){ .event = event_param });
    rondo_record_signal(h, &(rondo_sync_desc){ .counter = counter, .when = { .every = 2 } });
    text[0] = 0;
    cr_assert_eq(rondo_subgraph_write_dot(h, append, NULL), RONDO_OK);
    cr_assert_str_eq(
        text, "digraph \"g\" {\n"
              "  n0 [label=\"team\\nspmd, team of 2\", shape=box];\n"
              "  n1 [label=\"some\\ndetached\\nif parameter p\\nif n % 4 = 1\", shape=box, "
              "style=dashed];\n"
              "  n2 [label=\"wait\\n5 + 2 n\", shape=octagon];\n"
              "  n3 [label=\"wait\\nevent e\", shape=octagon];\n"
              "  n4 [label=\"signal\\nif n % 2 = 0\\n0 + 0 n\", shape=octagon, style=dashed];\n"
              "}\n");
    close_all();
}
