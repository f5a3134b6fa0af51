/* SPDX-License-Identifier: BSD-3-Clause */
/* The order pass: a topological order, successors, levels and ranks. */
#include "compile/passes.h"
#include "compile/ready.h"

#include <string.h>

/* succ_first[u + 2] counts u's successors, then [u + 1] is where its next goes, then its end. */
static void count_successors(struct rd_pass *p)
{
    const struct rd_graph *g = p->graph;
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            p->succ_first[g->pred[e].from + 2] += !g->pred[e].distance;
}

/* Counts edges, and successors if there is room for them; tells whether every edge within a replay
 * goes from a lower to a higher id. */
static int scan(struct rd_pass *p)
{
    const struct rd_graph *g = p->graph;
    int ids = 1;
    for (uint32_t v = 0; v < p->nodes; v++) {
        uint32_t count = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            if (g->pred[e].distance)
                continue;
            ids &= g->pred[e].from < v;
            count++;
            if (p->succ_first)
                p->succ_first[g->pred[e].from + 2]++;
        }
        p->pred_count[v] = count;
        p->edges += count;
        p->work_ns += rd_pass_cost(p, v);
    }
    p->carried_edges = p->nodes ? (uint64_t)g->first[p->nodes] - p->edges : 0;
    return ids;
}

static rondo_status make_room(struct rd_pass *p)
{
    p->succ_first = rd_scratch_zeroed(&p->scratch, (size_t)p->nodes + 2, sizeof *p->succ_first);
    return p->succ_first ? RONDO_OK : rd_pass_memory();
}

rondo_status rd_order_successors(struct rd_pass *p)
{
    const struct rd_graph *g = p->graph;
    uint32_t *first;
    if (p->succ)
        return RONDO_OK;
    if (!p->succ_first) {
        if (make_room(p))
            return RONDO_ERR_MEMORY;
        count_successors(p);
    }
    p->succ = rd_scratch_array(&p->scratch, p->edges, sizeof *p->succ);
    if (!p->succ)
        return rd_pass_memory();
    first = p->succ_first;
    for (uint32_t v = 0; v < p->nodes; v++)
        first[v + 2] += first[v + 1];
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (!g->pred[e].distance)
                p->succ[first[g->pred[e].from + 1]++] = v;
    return RONDO_OK;
}

/* Kahn's algorithm; the order is its queue. */
static rondo_status sort_topologically(struct rd_pass *p)
{
    uint32_t *topo, *left, head = 0, tail = 0;
    rondo_status s = rd_order_successors(p);
    if (s)
        return s;
    topo = rd_scratch_array(&p->scratch, p->nodes, sizeof *topo);
    left = rd_scratch_array(&p->scratch, p->nodes, sizeof *left);
    if (!topo || !left)
        return rd_pass_memory();
    memcpy(left, p->pred_count, p->nodes * sizeof *left);
    for (uint32_t v = 0; v < p->nodes; v++)
        if (!left[v])
            topo[tail++] = v;
    while (head < tail) {
        uint32_t u = topo[head++];
        for (uint32_t k = p->succ_first[u]; k < p->succ_first[u + 1]; k++)
            if (--left[p->succ[k]] == 0)
                topo[tail++] = p->succ[k];
    }
    for (uint32_t v = 0; tail < p->nodes && v < p->nodes; v++)
        if (left[v])
            return rd_error(RONDO_ERR_INVALID,
                            "node %u: on or behind a cycle of edges within a replay", v);
    p->topo = topo;
    return RONDO_OK;
}

rondo_status rd_order(struct rd_pass *p)
{
    p->pred_count = rd_scratch_array(&p->scratch, p->nodes, sizeof *p->pred_count);
    if (!p->pred_count)
        return rd_pass_memory();
    if (p->in->processors > 1 && make_room(p)) /* they will be asked for */
        return RONDO_ERR_MEMORY;
    return scan(p) ? RONDO_OK : sort_topologically(p);
}

uint32_t rd_order_levels(const struct rd_pass *p, uint32_t *level)
{
    const struct rd_graph *g = p->graph;
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t v = rd_pass_at(p, i), here = 0;
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (!g->pred[e].distance && level[g->pred[e].from] + 1 > here)
                here = level[g->pred[e].from] + 1;
        level[v] = here;
        if (here >= most)
            most = here + 1;
    }
    return most;
}

/* What follows the producers of carried edges to other processors. At least 1, so that among equals
 * they go before the interior. */
static void rank_carried(const struct rd_pass *p, const uint16_t *processor, uint64_t *rank,
                         uint64_t handover)
{
    const struct rd_graph *g = p->graph;
    for (uint32_t v = 0; v < p->nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (g->pred[e].distance && processor[g->pred[e].from] != processor[v])
                rank[g->pred[e].from] = handover;
}

void rd_order_ranks(const struct rd_pass *p, const uint16_t *processor, uint64_t *rank)
{
    const struct rd_graph *g = p->graph;
    uint64_t handover = p->handover_ns ? p->handover_ns : 1;
    memset(rank, 0, p->nodes * sizeof *rank);
    if (processor && p->carried_edges)
        rank_carried(p, processor, rank, handover);
    for (uint32_t i = p->nodes; i-- > 0;) {
        uint32_t v = rd_pass_at(p, i);
        uint64_t here = rank[v] += rd_pass_cost(p, v);
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            uint32_t u = g->pred[e].from;
            uint64_t through = here;
            if (g->pred[e].distance)
                continue;
            if (processor) /* no branch: it would go either way half of the time */
                through += handover & -(uint64_t)(processor[u] != processor[v]);
            if (rank[u] < through)
                rank[u] = through;
        }
    }
}

int rd_order_even(const struct rd_pass *p)
{
    for (uint32_t v = 1; v < p->nodes && p->in->priority; v++)
        if (p->in->priority[v] != p->in->priority[0])
            return 0;
    return 1;
}

/* Ranks become 32-bit keys. Only heuristics read them, so low bits of very long paths may go. */
struct rd_keyed *rd_order_sort(const struct rd_pass *p, const uint64_t *rank, struct rd_keyed *key,
                               struct rd_keyed *spare)
{
    uint64_t most = 0;
    int shift = 0;
    struct rd_keyed *sorted;
    for (uint32_t v = 0; v < p->nodes && rank; v++)
        if (rank[v] > most)
            most = rank[v];
    while (most >> shift > 0xffffffffu)
        shift++;
    for (uint32_t v = 0; v < p->nodes; v++)
        key[v] = (struct rd_keyed){ rank ? (uint32_t)((most - rank[v]) >> shift) : 0, v };
    sorted = rd_sort_keyed(key, spare, p->nodes);
    if (rd_order_even(p))
        return sorted;
    for (uint32_t i = 0; i < p->nodes; i++)
        sorted[i].key = ~((uint32_t)rd_pass_priority(p, sorted[i].node) ^ 0x80000000u);
    return rd_sort_keyed(sorted, sorted == key ? spare : key, p->nodes);
}

rondo_status rd_order_list(struct rd_pass *p, const uint64_t *rank, uint32_t *order)
{
    struct rd_scratch temporary = rd_scratch_part(&p->scratch);
    struct rd_keyed *key = rd_scratch_array(&temporary, p->nodes, sizeof *key);
    struct rd_keyed *spare = rd_scratch_array(&temporary, p->nodes, sizeof *spare);
    uint32_t *left = rd_scratch_array(&temporary, p->nodes, sizeof *left);
    uint32_t *place = rd_scratch_array(&temporary, p->nodes, sizeof *place), from = 0;
    struct rd_ready ready;
    rondo_status s = rd_order_successors(p);
    if (s)
        goto free_temporary;
    if (!key || !spare || !left || !place || !rd_ready_init(&ready, &temporary, p->nodes)) {
        s = rd_pass_memory();
        goto free_temporary;
    }
    memcpy(left, p->pred_count, p->nodes * sizeof *left);
    key = rd_order_sort(p, rank, key, spare);
    for (uint32_t i = 0; i < p->nodes; i++) {
        place[key[i].node] = i;
        if (!left[key[i].node])
            rd_ready_add(&ready, i);
    }
    for (uint32_t i = 0; i < p->nodes; i++) {
        uint32_t u;
        from = rd_ready_next(&ready, from); /* none before it is ready */
        u = order[i] = key[from].node;
        rd_ready_remove(&ready, from);
        for (uint32_t k = p->succ_first[u]; k < p->succ_first[u + 1]; k++) {
            uint32_t v = p->succ[k];
            if (--left[v])
                continue;
            rd_ready_add(&ready, place[v]);
            if (place[v] < from)
                from = place[v];
        }
    }
free_temporary:
    rd_scratch_free(&temporary);
    return s;
}

rondo_status rd_order_alone(struct rd_pass *p, uint32_t *order, int *ids)
{
    *ids = !p->topo && rd_order_even(p);
    return *ids ? RONDO_OK : rd_order_list(p, NULL, order);
}
