/* SPDX-License-Identifier: BSD-3-Clause */
/* No memory, at every allocation of a recording that is written, looked at and read back: the call
 * says so and leaves nothing, and succeeds when made again. */
#include "tests/engine/short_memory.h"
#include "tests/support/graph_full.h"
#include "tests/support/graph_text.h"

#include <stdio.h>

struct program {
    rondo_runtime rt;
    rondo_counter counter[2];
    rondo_subgraph g, again;
    rondo_buffer given;
    struct graph_text json, second;
};

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

/* Contexts given to reads that were refused, and to the one that was not. */
static long long given, released;
static void release_context(void *context)
{
    (void)context;
    released++;
}

static rondo_status give_task(void *context, uint32_t node, rondo_task_desc *d,
                              void (**call)(void *context))
{
    (void)node;
    if (*call)
        return RONDO_ERR_INVALID;
    d->fn = nothing;
    if (d->access_count) { /* no call, then */
        d->context = context;
        d->release = release_context;
        given++;
    }
    return RONDO_OK;
}

static rondo_status give_counter(void *context, uint32_t number, rondo_counter *counter)
{
    *counter = ((struct program *)context)->counter[number];
    return RONDO_OK;
}

static void nothing_left(const struct program *p, uint64_t subgraphs, const char *call)
{
    rondo_runtime_statistics s;
    ET_OK(rondo_runtime_stats(p->rt, &s));
    cr_assert_eq(s.subgraphs, subgraphs, "%s: %llu subgraphs", call,
                 (unsigned long long)s.subgraphs);
    cr_assert_eq(given, released, "%s: %lld contexts, %lld released", call, given, released);
}

/* The recording and counters are made while there is enough. */
static void open_all(struct program *p)
{
    rondo_runtime_options o = {
        .cpus = "0,0", .allocate = allocate, .release = release, .context = &hooks
    };
    ET_OK(rondo_runtime_open(&o, &p->rt));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_counter_create(p->rt, 0, &p->counter[i]));
    p->g = graph_full(p->rt, p->counter);
}

static int run_all(long long fail_at, int persistent)
{
    struct program p = { .again = { 0 } };
    rondo_runtime_statistics s;
    const rondo_read_options o = { .task = give_task, .counter = give_counter, .context = &p };
    given = released = 0;
    begin_memory(0, 0);
    open_all(&p);
    begin_memory(fail_at, persistent);
    TRY(graph_text_of(p.g, &p.json));
    TRY(graph_text_seen(p.g, &p.second));
    for (rondo_status try_; (try_ = rondo_subgraph_read_json(p.rt, p.json.text, p.json.bytes, &o,
                                                             &p.again)) != RONDO_OK;) {
        refused(try_, "rondo_subgraph_read_json");
        cr_assert_eq(p.again.id, 0);
        nothing_left(&p, 1, "rondo_subgraph_read_json");
    }
    TRY(graph_text_of(p.again, &p.second));
    cr_assert_str_eq(p.json.text, p.second.text);
    ET_OK(rondo_subgraph_destroy(p.again));
    nothing_left(&p, 1, "the end");
    ET_OK(rondo_subgraph_destroy(p.g));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_counter_destroy(p.counter[i]));
    ET_OK(rondo_runtime_drain(p.rt));
    ET_OK(rondo_runtime_stats(p.rt, &s));
    cr_assert(!s.subgraphs && !s.buffers && !s.bytes, "allocation %lld: %llu buffers, %llu bytes",
              fail_at, (unsigned long long)s.buffers, (unsigned long long)s.bytes);
    ET_OK(rondo_runtime_close(p.rt));
    cr_assert_eq(atomic_load(&hooks.live), 0, "allocation %lld: %lld blocks left", fail_at,
                 atomic_load(&hooks.live));
    free(p.json.text);
    free(p.second.text);
    return atomic_load(&hooks.failures) > 0;
}

static void every_allocation(int persistent)
{
    long long n = 1;
    while (run_all(n, persistent))
        n++;
    printf("%lld allocations refused, each %s\n", n - 1, persistent ? "for good" : "once");
    cr_assert(n > 80, "only %lld", n);
}

Test(engine_alloc_files, once, .timeout = 300) { every_allocation(0); }
Test(engine_alloc_files, for_good, .timeout = 300) { every_allocation(1); }
