/* SPDX-License-Identifier: BSD-3-Clause */
/* Analysis without memory: each allocation of random recordings' analysis fails in turn; the call
 * says so, keeps nothing, and succeeds when there is memory again. */
#include "tests/subgraph/model.h"

static _Thread_local int64_t left = INT64_MAX; /* allocations of this thread that succeed */

static void *take(void *context, size_t bytes, size_t align)
{
    (void)context;
    if (left-- <= 0)
        return NULL;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *context, void *block)
{
    (void)context;
    free(block);
}

/* What instantiation asks of a recording. */
static rondo_status analyse(const struct model *m, int carried)
{
    struct rd_graph graph;
    struct rd_subgraph *e;
    rondo_status status = rd_subgraph_expand(m->g, 3, &e);
    if (status)
        return status;
    status = rd_subgraph_analyse(e, carried, &graph);
    if (!status)
        rd_graph_free(&m->g->rt->alloc, &graph);
    rd_subgraph_unref(e);
    return status;
}

/* Returns how many allocations the analysis makes. */
static int starve(const struct model *m, int carried)
{
    uint64_t bytes = rd_load_relaxed(&m->g->rt->alloc.bytes);
    rondo_status status, expected = analyse(m, carried);
    int allowed;
    for (allowed = 0;; allowed++) {
        left = allowed;
        status = analyse(m, carried);
        if (left >= 0) /* it had enough */
            break;
        cr_assert_eq(status, RONDO_ERR_MEMORY, "%d allocations: status %d", allowed, status);
        cr_assert_eq(rd_load_relaxed(&m->g->rt->alloc.bytes), bytes, "%d allocations: bytes kept",
                     allowed);
    }
    left = INT64_MAX;
    cr_assert_eq(status, expected);
    cr_assert_eq(rd_load_relaxed(&m->g->rt->alloc.bytes), bytes);
    return allowed;
}

Test(memory, analysis_survives_each_failure)
{
    static struct model m;
    rondo_runtime_options o = { .allocate = take, .release = give };
    uint64_t seed;
    int points = 0;
    cr_assert_eq(rondo_runtime_open(&o, &rt), RONDO_OK);
    for (seed = 1; seed <= 150; seed++) {
        struct random r = { ~seed };
        int hands = (int)random_below(&r, HAND + 1);
        make(seed,
             (seed % 3 ? 0 : RONDO_EDGES_EXPLICIT) |
                 (seed % 2 ? 0 : COMMUTING | CONDITIONS | OWN_SLOTS | SHARES),
             &m);
        for (; hands; hands--)
            add_hand(&r, &m);
        points += starve(&m, seed % 2);
        end(&m);
    }
    cr_assert_gt(points, 2000, "%d allocations", points);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

/* Every allocation of a recording, from its creation on. */
Test(memory, recording_survives_each_failure)
{
    static struct model m;
    rondo_runtime_options o = { .allocate = take, .release = give };
    rondo_buffer b;
    rondo_subgraph g;
    int64_t allowed, refused = 0;
    cr_assert_eq(rondo_runtime_open(&o, &rt), RONDO_OK);
    rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 1, { 64 }, { 0 } } }, &b);
    for (allowed = 0;; allowed++) {
        rondo_slot slot;
        rondo_node node;
        int i;
        left = allowed;
        if (rondo_subgraph_create(rt, NULL, &g)) {
            refused++;
            continue;
        }
        slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = &b, .ring_count = 1 });
        rondo_subgraph_param(g, "p", 8, NULL);
        for (i = 0; i < 40; i++) {
            node = rondo_record_task(g, &(rondo_task_desc){ .fn = nothing,
                                                            .arg = &i,
                                                            .arg_bytes = sizeof i,
                                                            .context = &m,
                                                            .access_count = 0 });
            rondo_record_task(g, &(rondo_task_desc){ .fn = nothing,
                                                     RONDO_AFTER(node),
                                                     .name = i % 2 ? "odd" : "even" });
        }
        rondo_record_for(
            g, &(rondo_for_desc){
                   RONDO_TASK(.fn = nothing, RONDO_ACCESSES(rondo_chunk(slot, RONDO_WRITE, 0, 0))),
                   .range = rondo_span(0, 64), .chunks = { 16 } });
        if (left >= 0)
            break;
        cr_assert_eq(rondo_subgraph_status(g), RONDO_ERR_MEMORY, "%lld allocations: %s",
                     (long long)allowed, rondo_error_message());
        refused++;
        rondo_subgraph_destroy(g);
    }
    left = INT64_MAX;
    cr_assert_eq(rondo_subgraph_status(g), RONDO_OK, "%s", rondo_error_message());
    cr_assert_gt(refused, 20, "%lld allocations", (long long)refused);
    rondo_subgraph_destroy(g);
    rondo_buffer_destroy(b);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}
