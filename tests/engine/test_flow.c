/* SPDX-License-Identifier: BSD-3-Clause */
/* The dataflow executor on random graphs: every node once per replay, after all its predecessors,
 * carried ones included, whatever the order, the window, the lanes, and who may run what. */
#include "tests/engine/flow_rig.h"

#include "src/base/error.h"
#include "tests/support/scale.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

static struct maker drawn(uint64_t *seed, uint32_t nodes, uint32_t degree, uint32_t distance)
{
    struct maker m = { 0 };
    make_random(&m, nodes, degree, distance, (int)below(seed, 2), seed);
    return m;
}

static void finish(struct rig *rig, struct maker *m, uint64_t replays, const char *what)
{
    rig_wait(rig, replays);
    cr_assert(rd_load_relaxed(&rig->wrong) == 0, "%s: %llu wrong, first: %s", what,
              (unsigned long long)rd_load_relaxed(&rig->wrong), rig->what);
    rig_free(rig);
    maker_free(m);
}

/* ---- without failures */

static void run_plain(struct rig *rig, uint64_t replays, uint32_t odd, uint64_t *seed)
{
    for (uint64_t i = 0; i < replays; i++)
        flow_submit(rig, odd && below(seed, odd) == 0, NULL);
}

static void check_all_ran(struct rig *rig, uint64_t replays, const char *what)
{
    uint64_t expected = replays * rig->graph.nodes;
    rig_wait(rig, replays);
    cr_assert(rd_load_relaxed(&rig->runs) == expected, "%s: %llu bodies ran of %llu", what,
              (unsigned long long)rd_load_relaxed(&rig->runs), (unsigned long long)expected);
}

Test(flow, random_graphs)
{
    uint64_t seed = 20261130;
    uint64_t cases = rd_test_scaled(240);
    for (uint64_t i = 0; i < cases; i++) {
        uint32_t nodes = 1 + below(&seed, i % 8 == 0 ? 300 : 24);
        struct maker m = drawn(&seed, nodes, 1 + below(&seed, 4), below(&seed, 4));
        struct rig_options o = { .lanes = 1 + below(&seed, 4),
                                 .window = 1 + below(&seed, 8),
                                 .serial = below(&seed, 3) == 0,
                                 .bound = below(&seed, 2) ? 1 + (int)below(&seed, 4) : 0,
                                 .together = (int)below(&seed, 2),
                                 .body_ns = below(&seed, 4) ? 0 : 3000 };
        uint64_t replays = 20 + below(&seed, 300);
        char what[200];
        struct rig *rig;
        if (o.lanes > 2 && below(&seed, 2))
            o.helpers = 1;
        snprintf(what, sizeof what,
                 "case %llu: %u nodes, distance %u, %u lanes (%u helpers), window %u, serial %d, "
                 "bound %d",
                 (unsigned long long)i, nodes, m.g.distance, o.lanes, o.helpers, o.window, o.serial,
                 o.bound);
        rig = rig_new(&m, &o, seed);
        run_plain(rig, replays, below(&seed, 2) ? 1 + below(&seed, 6) : 0, &seed);
        check_all_ran(rig, replays, what);
        finish(rig, &m, replays, what);
    }
}

/* The shapes that have cases of their own: one node; only first nodes; a chain through all replays;
 * a fan, whose inputs are summed up; more nodes at once than a deque has cells. */
Test(flow, shapes)
{
    static const struct {
        const char *what;
        uint32_t fan, rounds, chain, wide, replays;
    } shapes[] = {
        { "one node", 0, 0, 1, 0, 3000 },     { "a chain", 0, 0, 50, 0, 500 },
        { "first nodes", 0, 0, 0, 40, 1000 }, { "a fan", 200, 2, 0, 0, 200 },
        { "a deep fan", 9, 12, 0, 0, 500 },   { "a wide fan", 9000, 1, 0, 0, 20 },
        { "wide", 0, 0, 0, 20000, 6 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint32_t lanes = 1; lanes <= 3; lanes++)
            for (int serial = 0; serial < 2; serial++) {
                struct maker m = { 0 };
                uint64_t seed = i, replays = rd_test_scaled(shapes[i].replays);
                struct rig_options o = { .lanes = lanes, .window = 4, .serial = serial };
                struct rig *rig;
                if (shapes[i].chain)
                    make_chain(&m, shapes[i].chain);
                else if (shapes[i].fan)
                    make_fan(&m, shapes[i].fan, shapes[i].rounds);
                for (uint32_t k = 0; k < shapes[i].wide; k++)
                    maker_node(&m);
                o.bound = lanes == 3 ? 3 : 0;
                rig = rig_new(&m, &o, seed);
                run_plain(rig, replays, 0, &seed);
                check_all_ran(rig, replays, shapes[i].what);
                finish(rig, &m, replays, shapes[i].what);
            }
}

/* Replays that are far apart: lanes fall asleep in between, and none stays asleep. */
Test(flow, sleepers)
{
    uint64_t seed = 7, replays = rd_test_scaled(300);
    for (uint32_t lanes = 1; lanes <= 4; lanes++) {
        struct maker m = drawn(&seed, 12, 2, 1);
        struct rig_options o = { .lanes = lanes, .window = 2, .bound = 2 };
        struct rig *rig = rig_new(&m, &o, seed);
        for (uint64_t i = 0; i < replays; i++) {
            flow_submit(rig, 0, NULL);
            if (i % 3 == 0)
                rig_wait(rig, i + 1);
        }
        check_all_ran(rig, replays, "sleepers");
        finish(rig, &m, replays, "sleepers");
    }
}

/* A replay wakes one lane, and what it makes ready the others: none sleeps while there is work for
 * all. */
Test(flow, all_lend_a_hand)
{
    for (uint32_t lanes = 2; lanes <= 4; lanes++) {
        struct maker m = { 0 };
        struct rig_options o = { .lanes = lanes, .window = 1, .body_ns = 500000 };
        struct rig *rig;
        make_fan(&m, 100, 1);
        rig = rig_new(&m, &o, lanes);
        for (uint64_t i = 0; i < 20 && rd_load_relaxed(&rig->lanes) != (1u << lanes) - 1; i++) {
            const struct timespec rest = { 0, 5000000 };
            nanosleep(&rest, NULL); /* so that all are asleep */
            flow_submit(rig, 0, NULL);
            rig_wait(rig, i + 1);
        }
        cr_assert(rd_load_relaxed(&rig->lanes) == (1u << lanes) - 1, "lanes 0x%llx of %u ran",
                  (unsigned long long)rd_load_relaxed(&rig->lanes), lanes);
        finish(rig, &m, rig->submitted, "helping");
    }
}

/* Frames that wait for an event before they begin, beside others in flight. */
Test(flow, gates)
{
    uint64_t seed = 11, replays = rd_test_scaled(400);
    for (int serial = 0; serial < 2; serial++) {
        struct maker m = drawn(&seed, 10, 2, 2);
        struct rig_options o = { .lanes = 2, .window = 4, .serial = serial };
        struct rig *rig = rig_new(&m, &o, seed);
        struct rd_source *s = rd_source_new();
        for (uint64_t i = 0; i < replays; i++) {
            struct rd_gate gate = { .source = s, .id = rd_source_id(s), .count = i + 1 };
            uint64_t before = rd_load_relaxed(&rig->runs);
            flow_submit(rig, 0, i % 2 ? &gate : NULL);
            if (i % 2) {
                rig_wait(rig, i);
                cr_assert(rd_load_relaxed(&rig->runs) == i * 10, "a gated replay began: %llu, %llu",
                          (unsigned long long)before, (unsigned long long)i);
                rd_store_release(&s->done, i + 1);
                rd_fence();
                rd_store_relaxed(&s->at, (uint64_t)RD_AT_NONE);
                rd_park_wake(&s->wake);
            }
        }
        check_all_ran(rig, replays, "gates");
        finish(rig, &m, replays, "gates");
        rd_source_retire(s);
    }
}

/* Nodes that pend until the submitter says so, many at once, bound or not. */
Test(flow, pending)
{
    uint64_t seed = 13, cases = rd_test_scaled(24);
    for (uint64_t c = 0; c < cases; c++) {
        struct maker m = drawn(&seed, 2 + below(&seed, 40), 2, below(&seed, 3));
        struct rig_options o = { .lanes = 1 + below(&seed, 3),
                                 .window = 1 + below(&seed, 4),
                                 .bound = below(&seed, 2) ? 3 : 0,
                                 .pends = 2 };
        struct rig *rig = rig_new(&m, &o, seed);
        uint64_t replays = 200, said = 0;
        for (uint64_t i = 0; i < replays; i++) {
            flow_submit(rig, 0, NULL);
            if (i + 1 - said < o.window && below(&seed, 2))
                continue;
            said = i + 1;
            rd_store_release(&rig->outside->done, said);
            rd_fence();
            rd_store_relaxed(&rig->outside->at, (uint64_t)RD_AT_NONE);
            rd_park_wake(&rig->outside->wake);
        }
        rd_store_release(&rig->outside->done, replays);
        rd_fence();
        rd_park_wake(&rig->outside->wake);
        check_all_ran(rig, replays, "pending");
        finish(rig, &m, replays, "pending");
    }
}

/* ---- failures */

/* What should have run of a replay, where failures stay within their replay. */
static void check_replay(struct rig *rig, uint64_t r, uint8_t *good)
{
    const struct rd_graph *g = &rig->graph;
    int again = 1;
    for (uint32_t v = 0; v < g->nodes; v++)
        good[v] = !rig_fails(rig, r, v);
    while (again) { /* the ids are in no order */
        again = 0;
        for (uint32_t v = 0; v < g->nodes; v++)
            for (uint32_t e = g->first[v]; good[v] && e < g->first[v + 1]; e++)
                if (!g->pred[e].distance && !good[g->pred[e].from])
                    again = 1, good[v] = 0;
    }
    for (uint32_t v = 0; v < g->nodes; v++)
        cr_assert((rig->ran[r % RIG_HISTORY * g->nodes + v] == r + 1) == good[v],
                  "replay %llu, node %u: ran %d", (unsigned long long)r, v, !good[v]);
}

Test(flow, failures_within_a_replay)
{
    uint64_t seed = 17, cases = rd_test_scaled(40);
    for (uint64_t c = 0; c < cases; c++) {
        uint32_t nodes = 2 + below(&seed, 60), window = 1 + below(&seed, 6);
        struct maker m = drawn(&seed, nodes, 2, below(&seed, 3));
        struct rig_options o = { .lanes = 1 + below(&seed, 3),
                                 .window = window,
                                 .run_on = 1,
                                 .serial = (int)below(&seed, 2),
                                 .bound = below(&seed, 2) ? 3 : 0,
                                 .fails = 20 + below(&seed, 200) };
        struct rig *rig = rig_new(&m, &o, seed);
        uint64_t replays = 100, checked = 0;
        uint8_t *good = malloc(nodes);
        for (uint64_t i = 0; i < replays; i++) {
            flow_submit(rig, 0, NULL);
            for (; checked < rd_load_acquire(&rig->track.source->done); checked++)
                check_replay(rig, checked, good);
        }
        rig_wait(rig, replays);
        for (; checked < replays; checked++)
            check_replay(rig, checked, good);
        free(good);
        finish(rig, &m, replays, "failures");
    }
}

/* After a failure no op runs behind a bad predecessor, carried ones included (the bodies check),
 * and replays submitted later do not run at all, until a new epoch begins. */
Test(flow, failures_cancel)
{
    uint64_t seed = 19, cases = rd_test_scaled(40);
    for (uint64_t c = 0; c < cases; c++) {
        struct maker m = drawn(&seed, 2 + below(&seed, 30), 2, 1 + below(&seed, 2));
        struct rig_options o = { .lanes = 1 + below(&seed, 3),
                                 .window = 1 + below(&seed, 6),
                                 .bound = below(&seed, 2) ? 3 : 0,
                                 .fails = 500 };
        struct rig *rig = rig_new(&m, &o, seed);
        uint64_t replays = 0, runs;
        for (int epoch = 0; epoch < 8; epoch++) {
            for (int i = 0; i < 20; i++)
                flow_submit(rig, 0, NULL);
            replays += 20;
            rig_wait(rig, replays);
            if (!rd_load_relaxed(&rig->failures.bad))
                continue;
            if (rd_load_relaxed(&rig->failures.bad) >> RD_REPLAY_BITS != rig->epoch + 1ull)
                continue;
            runs = rd_load_relaxed(&rig->runs);
            flow_submit(rig, 0, NULL);
            rig_wait(rig, ++replays);
            cr_assert(rd_load_relaxed(&rig->runs) == runs, "an op of a cancelled replay ran");
            pthread_mutex_lock(&rig->failures.lock);
            rd_failures_new_epoch(&rig->failures, replays);
            pthread_mutex_unlock(&rig->failures.lock);
            rig->epoch++;
            rig->history_from = replays;
        }
        finish(rig, &m, replays, "cancelling");
    }
}

/* ---- building */

static struct rd_allocator short_of;
static uint64_t allowed;

static void *allocate_some(void *context, size_t bytes, size_t align)
{
    void *block;
    (void)context;
    if (!allowed)
        return NULL;
    allowed--;
    return posix_memalign(&block, align < 16 ? 16 : align, bytes) ? NULL : block;
}

static void release_some(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(flow, no_memory)
{
    uint64_t seed = 23;
    struct maker m = drawn(&seed, 40, 3, 2);
    uint16_t bound[40];
    struct rd_compile_input in = { .graph = &m.g, .processors = 1, .interpret_only = 1 };
    struct rd_flow_input flow = {
        .graph = &m.g, .bound = bound, .processors = 3, .helpers = 1, .window = 3, .pend_most = 2
    };
    struct rd_flow *made = NULL;
    rondo_status status;
    uint64_t tries = 0;
    for (uint32_t v = 0; v < 40; v++)
        bound[v] = v % 3 ? (uint16_t)RD_PLACE_ANY : (uint16_t)(v % 2 * 2);
    cr_assert(rd_compile(rd_allocator_system(), &in, (struct rd_plan **)&flow.plan) == RONDO_OK);
    rd_allocator_init(&short_of, allocate_some, release_some, NULL);
    do {
        allowed = tries++;
        status = rd_flow_new(&short_of, &flow, &made);
        cr_assert(status == RONDO_OK || (status == RONDO_ERR_MEMORY && !made));
        rd_flow_free(&short_of, made);
        cr_assert(rd_load_relaxed(&short_of.bytes) == 0, "%llu bytes left after %llu allocations",
                  (unsigned long long)rd_load_relaxed(&short_of.bytes), (unsigned long long)tries);
    } while (status != RONDO_OK);
    cr_assert(tries > 20);
    rd_plan_free(rd_allocator_system(), (struct rd_plan *)flow.plan);
    maker_free(&m);
}
