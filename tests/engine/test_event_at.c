/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of nodes: complete when the node has ended and not before, promptly, in every mode, also
 * where the rest of the replay waits for whoever waits for the event. */
#include "tests/engine/engine_check.h"

#include <sched.h>
#include <stdatomic.h>

typedef _Atomic(uint64_t) tally;

static int tick(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((tally *)rondo_task_context(self), 1);
    return 0;
}

enum { CHUNKS = 5 };

/* chunks (one node each) -> wait for the counter -> last, and beside them a chain of small tasks.
 */
struct rig {
    rondo_runtime rt;
    rondo_exec exec;
    rondo_counter counter;
    rondo_node chunks, one, last;
    tally chunk_runs, one_runs, last_runs, chain_runs;
};

static void open_rig(struct rig *r, const rondo_instantiate_options *o, uint32_t workers)
{
    rondo_subgraph g;
    rondo_node wait, chain = { 0 };
    rondo_node before[2];
    rondo_task_desc chunk = {
        .name = "chunk", .fn = tick, .context = &r->chunk_runs, .flags = RONDO_NO_ACCESS
    };
    memset(r, 0, sizeof *r);
    r->rt = et_runtime(workers);
    ET_OK(rondo_counter_create(r->rt, 0, &r->counter));
    ET_OK(rondo_subgraph_create(r->rt, NULL, &g));
    r->chunks = rondo_record_for(
        g,
        &(rondo_for_desc){ .task = &chunk, .range = rondo_span(0, CHUNKS), .chunks = { CHUNKS } });
    ET_HANDLE(r->chunks);
    r->one = rondo_record_task(
        g, &(rondo_task_desc){
               .name = "one", .fn = tick, .context = &r->one_runs, .flags = RONDO_NO_ACCESS });
    ET_HANDLE(r->one);
    before[0] = r->chunks;
    before[1] = r->one;
    wait = rondo_record_wait(
        g, &(rondo_sync_desc){
               .counter = r->counter, .first = 1, .step = 1, .after = before, .after_count = 2 });
    ET_HANDLE(wait);
    r->last = rondo_record_task(g, &(rondo_task_desc){ .name = "last",
                                                       .fn = tick,
                                                       .context = &r->last_runs,
                                                       RONDO_AFTER(wait),
                                                       .flags = RONDO_NO_ACCESS });
    for (int i = 0; i < 20; i++) {
        chain = rondo_record_task(g, &(rondo_task_desc){ .fn = tick,
                                                         .context = &r->chain_runs,
                                                         .after = &chain,
                                                         .after_count = chain.id != 0,
                                                         .flags = RONDO_NO_ACCESS });
        ET_HANDLE(chain);
    }
    ET_OK(rondo_instantiate(g, o, &r->exec));
    ET_OK(rondo_subgraph_destroy(g));
}

static void close_rig(struct rig *r)
{
    ET_OK(rondo_exec_destroy(r->exec));
    ET_OK(rondo_counter_destroy(r->counter));
    ET_CLOSE(r->rt);
}

/* Each replay goes on only when the events of its first nodes were waited for. */
static void step_by_step(const rondo_instantiate_options *o, uint32_t workers)
{
    struct rig r;
    rondo_event replay, one, chunks, last, again;
    open_rig(&r, o, workers);
    for (uint64_t i = 1; i <= 30; i++) {
        ET_OK(rondo_replay(r.exec, &(rondo_replay_args){ 0 }, &replay));
        if (i % 3 == 0) /* they have ended before they are asked for */
            cr_assert(et_await(&r.one_runs, i) && et_await(&r.chunk_runs, CHUNKS * i) &&
                      et_await(&r.chain_runs, 20 * i));
        ET_OK(rondo_event_at(replay, r.one, &one));
        ET_OK(rondo_event_at(replay, r.chunks, &chunks));
        ET_OK(rondo_event_at(replay, r.last, &last));
        ET_OK(rondo_event_wait(one, 20000000000));
        cr_assert(r.one_runs == i, "%llu", (unsigned long long)r.one_runs);
        ET_OK(rondo_event_wait(chunks, 20000000000));
        cr_assert(r.chunk_runs == CHUNKS * i);
        ET_IS(rondo_event_wait(last, i % 4 ? 0 : 2000000), RONDO_ERR_AGAIN);
        cr_assert_eq(r.last_runs, i - 1);
        ET_OK(rondo_counter_raise(r.counter, i));
        ET_OK(rondo_event_wait(last, 20000000000));
        cr_assert_eq(r.last_runs, i);
        ET_OK(rondo_event_wait(replay, -1));
        ET_OK(rondo_event_at(replay, r.one, &again));
        cr_assert(again.source == 0 && again.count == 0);
        ET_OK(rondo_event_wait(one, 0));
        ET_OK(rondo_event_wait(chunks, 0));
    }
    close_rig(&r);
}

/* Of a call of several replays: the last one's. Then a later replay may wait for a node's event. */
static void of_many(const rondo_instantiate_options *o, uint32_t workers)
{
    enum { COUNT = 10 };
    struct rig r;
    rondo_event replay, one, gated;
    open_rig(&r, o, workers);
    ET_OK(rondo_counter_raise(r.counter, COUNT - 1));
    ET_OK(rondo_replay(r.exec, &(rondo_replay_args){ .count = COUNT }, &replay));
    ET_OK(rondo_event_at(replay, r.one, &one));
    ET_OK(rondo_event_wait(one, 20000000000));
    /* Nothing orders the earlier replays' before it where replays overlap on any processor. */
    if (o->schedule == RONDO_DATAFLOW && o->order != RONDO_SERIAL)
        cr_assert(et_await(&r.one_runs, COUNT));
    cr_assert(r.one_runs == COUNT && r.last_runs < COUNT);
    ET_OK(rondo_event_at(replay, r.last, &one));
    ET_OK(rondo_replay(r.exec, &(rondo_replay_args){ .after = &one, .after_count = 1 }, &gated));
    ET_IS(rondo_event_wait(gated, 1000000), RONDO_ERR_AGAIN);
    cr_assert_eq(r.one_runs, COUNT);
    ET_OK(rondo_counter_raise(r.counter, COUNT + 1));
    ET_OK(rondo_event_wait(gated, 20000000000));
    cr_assert_eq(r.last_runs, COUNT + 1);
    close_rig(&r);
}

static void refused(const rondo_instantiate_options *o, uint32_t workers)
{
    struct rig r, other;
    rondo_event replay, one, event = { 5, 5 };
    rondo_result result;
    open_rig(&r, o, workers);
    open_rig(&other, o, workers);
    ET_OK(rondo_replay(r.exec, NULL, &replay));
    ET_IS(rondo_event_at(replay, other.one, &event), RONDO_ERR_INVALID);
    ET_SAYS("no node of its subgraph");
    ET_IS(rondo_event_at(replay, (rondo_node){ 0 }, &event), RONDO_ERR_INVALID);
    ET_IS(rondo_event_at(replay, r.one, NULL), RONDO_ERR_INVALID);
    ET_IS(rondo_event_at((rondo_event){ replay.source, replay.count + 7 }, r.one, &event),
          RONDO_ERR_INVALID);
    ET_SAYS("not submitted yet");
    ET_IS(rondo_event_at((rondo_event){ 0, 0 }, r.one, &event), RONDO_ERR_INVALID);
    cr_assert(event.source == 5 && event.count == 5);
    ET_OK(rondo_event_at(replay, r.last, &one));
    ET_IS(rondo_event_result(one, &result), RONDO_ERR_AGAIN);
    ET_OK(rondo_counter_raise(r.counter, 1));
    ET_OK(rondo_event_wait(replay, -1));
    ET_OK(rondo_event_wait(one, 20000000000));
    ET_OK(rondo_exec_destroy(r.exec));
    ET_IS(rondo_event_at(replay, r.one, &event), RONDO_ERR_STALE);
    ET_OK(rondo_event_wait(one, -1));
    ET_OK(rondo_counter_destroy(r.counter));
    close_rig(&other);
    ET_CLOSE(r.rt);
}

/* The mode changes between replays in flight: each one's events are its own. (Dataflow has a core
 * of its own: going back to it waits for the replays that it ran.) */
static void modes_by_turns(const rondo_instantiate_options *o, uint32_t workers)
{
    struct rig r;
    rondo_event replay[3], one[3], last[3];
    if (o->schedule == RONDO_DATAFLOW)
        return;
    open_rig(&r, o, workers);
    for (uint64_t i = 0; i < 30; i += 3) {
        for (int k = 0; k < 3; k++) {
            ET_OK(rondo_exec_set_mode(r.exec, (i + (uint64_t)k) % 2 || o->mode == RONDO_INTERPRETED
                                                  ? RONDO_INTERPRETED
                                                  : RONDO_COMPILED));
            ET_OK(rondo_replay(r.exec, NULL, &replay[k]));
            ET_OK(rondo_event_at(replay[k], r.one, &one[k]));
            ET_OK(rondo_event_at(replay[k], r.last, &last[k]));
        }
        for (uint64_t k = 0; k < 3; k++) {
            ET_OK(rondo_event_wait(one[k], 20000000000));
            cr_assert(r.one_runs >= i + k + 1);
            ET_IS(rondo_event_wait(last[k], 0), RONDO_ERR_AGAIN);
            cr_assert(r.last_runs == i + k);
            ET_OK(rondo_counter_raise(r.counter, i + k + 1));
            ET_OK(rondo_event_wait(last[k], 20000000000));
            cr_assert(r.last_runs == i + k + 1);
        }
    }
    close_rig(&r);
}

static const struct et_schedule_case cases[] = {
    { "step by step", step_by_step },
    { "of a call of many", of_many },
    { "refused", refused },
    { "modes by turns", modes_by_turns },
};

Test(engine_event_at, every_case_in_every_mode)
{
    et_every_schedule(cases, sizeof cases / sizeof *cases);
}
