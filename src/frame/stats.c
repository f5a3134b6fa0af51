/* SPDX-License-Identifier: BSD-3-Clause */
/* Node statistics. Relaxed throughout: each figure is right by itself, and a reader that needs them
 * to fit together reads after the replays' end, which it acquired. */
#include "src/frame/stats.h"

#include <string.h>

static RD_NOINLINE struct rd_node_stats *make(struct rd_stats *stats)
{
    struct rd_node_stats *mine = rd_zalloc_array(stats->alloc, stats->nodes, sizeof *mine),
                         *seen = NULL;
    /* Release: the zeros; pairs with the acquire below. */
    if (mine && !rd_cas_acq_rel(&stats->node, &seen, mine)) {
        rd_free_array(stats->alloc, mine, stats->nodes, sizeof *mine);
        return seen; /* another lane was first */
    }
    return mine;
}

static inline void add(rd_atomic64 *word, uint64_t value, int alone)
{
    if (alone) /* a locked addition costs 5 ns more */
        rd_store_relaxed(word, rd_load_relaxed(word) + value);
    else
        rd_add_relaxed(word, value);
}

static inline void raise(rd_atomic64 *word, uint64_t value)
{
    uint64_t seen = rd_load_relaxed(word);
    while (seen < value && !rd_cas_relaxed(word, &seen, value))
        ;
}

void rd_stats_note(struct rd_stats *stats, uint32_t node, uint64_t ns, int alone)
{
    struct rd_node_stats *n = rd_load_acquire(&stats->node); /* pairs with make */
    if (RD_UNLIKELY(!n) && !(n = make(stats)))
        return;
    if (RD_UNLIKELY(node >= stats->nodes))
        return;
    n += node;
    add(&n->runs, 1, alone);
    add(&n->sum_ns, ns, alone);
    raise(&n->least_ns, UINT64_MAX - ns);
    raise(&n->most_ns, ns);
}

void rd_stats_read(struct rd_stats *stats, uint32_t node, struct rd_node_times *times)
{
    const struct rd_node_stats *n = stats ? rd_load_acquire(&stats->node) : NULL;
    memset(times, 0, sizeof *times);
    if (!n || node >= stats->nodes || !rd_load_relaxed(&n[node].runs))
        return;
    times->runs = rd_load_relaxed(&n[node].runs);
    times->sum_ns = rd_load_relaxed(&n[node].sum_ns);
    times->min_ns = UINT64_MAX - rd_load_relaxed(&n[node].least_ns);
    times->max_ns = rd_load_relaxed(&n[node].most_ns);
}

void rd_stats_free(struct rd_stats *stats)
{
    rd_free_array(stats->alloc, rd_load_relaxed(&stats->node), stats->nodes,
                  sizeof(struct rd_node_stats));
    rd_store_relaxed(&stats->node, NULL); /* nothing runs any more */
}
