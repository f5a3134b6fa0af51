/* SPDX-License-Identifier: BSD-3-Clause */
/* What was measured of an exec's nodes, told. */
#include "src/exec/exec.h"

#include <stdio.h>
#include <string.h>

enum { SLOWEST = 5 };

void rd_exec_node_times(struct rd_exec *x, uint32_t node, rondo_node_info *info)
{
    struct rd_node_times times;
    rd_stats_read(&x->stats, node, &times);
    info->runs = times.runs;
    if (!times.runs)
        return;
    info->min_ns = (double)times.min_ns;
    info->mean_ns = (double)times.sum_ns / (double)times.runs;
    info->max_ns = (double)times.max_ns;
}

struct slow_node {
    uint32_t node;
    struct rd_node_times times;
};

static double mean(const struct rd_node_times *t) { return (double)t->sum_ns / (double)t->runs; }

/* Puts a node among the slowest, which are sorted; returns how many there are. */
static uint32_t insert(struct slow_node *slowest, uint32_t count, const struct slow_node *n)
{
    uint32_t at = count;
    while (at > 0 && mean(&slowest[at - 1].times) < mean(&n->times))
        at--;
    if (at == SLOWEST)
        return count;
    count += count < SLOWEST;
    memmove(&slowest[at + 1], &slowest[at], (count - at - 1) * sizeof *slowest);
    slowest[at] = *n;
    return count;
}

void rd_exec_describe_times(struct rd_exec *x, void (*write)(void *context, const char *text),
                            void *context)
{
    struct slow_node slowest[SLOWEST], n;
    uint32_t count = 0;
    char text[256];
    for (n.node = 0; n.node < x->stats.nodes; n.node++) {
        rd_stats_read(&x->stats, n.node, &n.times);
        if (n.times.runs)
            count = insert(slowest, count, &n);
    }
    if (count)
        write(context, "slowest nodes by their mean:\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct rd_node_times *t = &slowest[i].times;
        snprintf(text, sizeof text, "  '%.80s': %.0f ns, from %llu to %llu, of %llu runs\n",
                 rd_program_name(&x->program, slowest[i].node), mean(t),
                 (unsigned long long)t->min_ns, (unsigned long long)t->max_ns,
                 (unsigned long long)t->runs);
        write(context, text);
    }
}
