/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench latency`: one small replay and the wait for it; two threads that replay one exec; at
 * a steady period, which bench/period.c measures. */
#include "bench/contest.h"
#include "bench/machine.h"
#include "bench/measures.h"
#include "bench/options.h"
#include "bench/period.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SAMPLE_NS = 2000000 };

/* ---- replay and wait */

struct latency latency_measure(uint32_t nodes, unsigned rounds)
{
    struct contest contest = { .entries = 0 };
    struct graph *g = graph_make(GRAPH_CHAIN, 1, nodes, 1);
    struct setup setup = { .body = body_empty, .workers = 1 };
    struct entry *loop = contest_add(&contest, &peer_loop, g, &setup, NULL);
    struct entry *rondo = contest_add(&contest, &peer_rondo, g, &setup, NULL);
    contest_measure(&contest, rounds, SAMPLE_NS);
    struct latency l = { { samples_min(&loop->ns), samples_median(&loop->ns) },
                         { samples_min(&rondo->ns), samples_median(&rondo->ns) } };
    contest_end(&contest);
    graph_free(g);
    return l;
}

static void replay_and_wait(const struct options *o)
{
    static const uint32_t sizes[] = { 1, 10, 100 };
    struct table *t = table_make("nodes,loop_ns_min,loop_ns_median,rondo_ns_min,rondo_ns_median,"
                                 "allowed_min,allowed_median");
    for (unsigned i = 0; i < 3; i++) {
        struct latency l = latency_measure(sizes[i], o->rounds ? o->rounds : 25);
        table_cell(t, "%u", sizes[i]);
        table_cell(t, "%.1f", l.loop.min);
        table_cell(t, "%.1f", l.loop.median);
        table_cell(t, "%.1f", l.rondo.min);
        table_cell(t, "%.1f", l.rondo.median);
        table_cell(t, "%.1f", 45 + 1.5 * l.loop.min);
        table_cell(t, "%.1f", 45 + 1.5 * l.loop.median);
    }
    table_write(t, o->format, stdout);
    table_free(t);
}

/* ---- two submitters */

struct submitters {
    rondo_exec exec[2]; /* the same twice, or one each */
    uint64_t replays;   /* each */
    unsigned threads;
    atomic_uint ready;
};

struct submitter {
    struct submitters *all;
    unsigned me;
};

static void *submit(void *context)
{
    struct submitter *s = context;
    rondo_event event = { 0, 0 };
    machine_pin(s->me);
    atomic_fetch_add(&s->all->ready, 1);
    while (atomic_load(&s->all->ready) < s->all->threads)
        bench_pause();
    for (uint64_t i = 0; i < s->all->replays; i++)
        rondo_must(rondo_replay(s->all->exec[s->me], NULL, &event), "a replay");
    rondo_must(rondo_event_wait(event, -1), "waiting for replays");
    return NULL;
}

/* ns per replay, both threads' together. */
static double submit_all(struct submitters *s)
{
    pthread_t thread[2];
    struct submitter submitter[2];
    atomic_store(&s->ready, 0);
    timing_settle();
    double start = timing_ns();
    for (unsigned i = 0; i < s->threads; i++) {
        submitter[i] = (struct submitter){ s, i };
        if (pthread_create(&thread[i], NULL, submit, &submitter[i]) != 0)
            bench_die(BENCH_EXIT_FAILED, "cannot start a thread");
    }
    for (unsigned i = 0; i < s->threads; i++)
        pthread_join(thread[i], NULL);
    return (timing_ns() - start) / (double)(s->replays * s->threads);
}

/* One submitter, two on one exec, two with an exec each, of one schedule. */
static void submit_with(const struct options *o, struct table *t, enum replay_schedule schedule)
{
    static const char *const what[] = { "one", "two, one exec", "two, an exec each" };
    struct graph *g = graph_make(GRAPH_STENCIL, 2, 5, 2);
    struct setup setup = { .body = body_empty,
                           .order = ORDER_PIPELINED,
                           .schedule = schedule,
                           .workers = 2,
                           .bind = schedule == SCHEDULE_STATIC };
    peer_must_check(&peer_rondo, g, &setup);
    void *built[2] = { peer_rondo.build(g, &setup), peer_rondo.build(g, &setup) };
    uint64_t replays = o->replays ? o->replays : 20000;
    struct samples ns[3] = { { 0 }, { 0 }, { 0 } };
    for (unsigned round = 0; round < (o->rounds ? o->rounds : 7); round++)
        for (unsigned kind = 0; kind < (o->submitters == 1 ? 1u : 3u); kind++) {
            struct submitters s = { .exec = { rondo_impl_exec(built[0]),
                                              rondo_impl_exec(built[kind == 2]) },
                                    .replays = kind ? replays / 2 : replays,
                                    .threads = kind ? 2 : 1 };
            samples_add(&ns[kind], submit_all(&s));
        }
    for (unsigned kind = 0; kind < 3 && ns[kind].count; kind++) {
        table_cell(t, "%s", what[kind]);
        table_cell(t, "%s", replay_schedule_name(schedule));
        table_cell(t, "%u", g->nodes);
        table_cell(t, "%llu", (unsigned long long)replays);
        table_cell(t, "%.0f", samples_min(&ns[kind]));
        table_cell(t, "%.0f", samples_median(&ns[kind]));
        samples_clear(&ns[kind]);
    }
    peer_rondo.free(built[0]);
    peer_rondo.free(built[1]);
    graph_free(g);
}

static void with_submitters(const struct options *o)
{
    struct table *t = table_make("submitters,schedule,nodes,replays,ns_per_replay_min,"
                                 "ns_per_replay_median");
    submit_with(o, t, SCHEDULE_STATIC); /* two lanes, forced */
    submit_with(o, t, SCHEDULE_AUTO);
    table_write(t, o->format, stdout);
    table_free(t);
}

int command_latency(const struct options *o)
{
    if (o->period_ns > 0)
        return period_print(o);
    else if (o->submitters)
        with_submitters(o);
    else
        replay_and_wait(o);
    return 0;
}
