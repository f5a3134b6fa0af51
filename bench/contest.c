/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures several entries against each other, interleaved, each checked once before. */
#include "bench/contest.h"

#include "bench/progress.h"
#include "bench/support.h"

#include <stdlib.h>

enum { ROUNDS_PER_BUILD = 4 };

struct entry *contest_add(struct contest *c, const struct peer *peer, const struct graph *graph,
                          const struct setup *setup, const char **why)
{
    const char *refusal =
        c->entries < CONTEST_MAX ? peer->refusal(graph, setup) : "too many entries";
    if (why)
        *why = refusal;
    if (refusal)
        return NULL;
    struct entry *e = &c->entry[c->entries++];
    *e = (struct entry){ .peer = peer, .graph = graph, .setup = *setup };
    progress_show("%s on %s: check", peer->name, graph_kind_name(graph->kind));
    peer_must_check(peer, graph, setup);
    timing_settle(); /* some calibrate themselves while they build */
    e->built = peer->build(graph, setup);
    e->warm = peer == &peer_rondo && setup->schedule == SCHEDULE_AUTO ? CONTEST_SETTLED : 0;
    return e;
}

void contest_size(struct entry *e, double sample_ns)
{
    e->count = 1;
    for (;;) {
        double ns = e->peer->run(e->built, e->count);
        if (ns >= sample_ns / 2 || e->count >= 1u << 26) {
            double wanted = (double)e->count * sample_ns / (ns > 1 ? ns : 1);
            e->count = wanted < 1 ? 1 : (uint64_t)wanted;
            return;
        }
        e->count *= 2;
    }
}

void contest_rebuild_one(struct contest *c, struct entry *e)
{
    static uint64_t random = 1;
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (c->junks < CONTEST_JUNK_MAX)
        c->junk[c->junks++] = bench_alloc((size_t)(random >> 52) * 8 + 1, 1);
    progress_show("%s on %s: build", e->peer->name, graph_kind_name(e->graph->kind));
    timing_settle();
    void *built = e->peer->build(e->graph, &e->setup);
    e->peer->free(e->built);
    e->built = built;
    if (e->warm)
        e->peer->run(e->built, e->warm);
}

void contest_rebuild(struct contest *c)
{
    for (unsigned i = 0; i < c->entries; i++)
        contest_rebuild_one(c, &c->entry[i]);
}

double contest_sample(struct entry *e)
{
    timing_settle();
    e->peer->run(e->built, e->count / 4 + 1);
    return e->peer->run(e->built, e->count) / (double)e->count;
}

void contest_measure(struct contest *c, unsigned rounds, double sample_ns)
{
    for (unsigned i = 0; i < c->entries; i++) {
        struct entry *e = &c->entry[i];
        if (!e->ns.count && e->warm)
            e->peer->run(e->built, e->warm);
        if (!e->count)
            contest_size(e, sample_ns);
    }
    for (unsigned round = 0; round < rounds; round++) {
        if (round && round % ROUNDS_PER_BUILD == 0)
            contest_rebuild(c);
        for (unsigned i = 0; i < c->entries; i++) {
            struct entry *e = &c->entry[i];
            progress_show("%s, %u nodes: round %u of %u, %s", graph_kind_name(e->graph->kind),
                          e->graph->nodes, round + 1, rounds, e->peer->name);
            samples_add(&e->ns, contest_sample(e));
        }
    }
    progress_show(NULL);
}

double entry_min(const struct entry *e) { return samples_min(&e->ns) / e->graph->nodes; }

double entry_median(const struct entry *e) { return samples_median(&e->ns) / e->graph->nodes; }

void contest_end(struct contest *c)
{
    for (unsigned i = 0; i < c->entries; i++) {
        struct entry *e = &c->entry[i];
        e->peer->free(e->built);
        samples_clear(&e->ns);
    }
    while (c->junks)
        free(c->junk[--c->junks]);
    c->entries = 0;
}
