/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewrites the edges of a graph whose device nodes were cut into segments: one list of predecessors
 * after the other, those of the union of all phases and those of each variant by the same table. */
#include "compile/segments_graph.h"

#include "src/base/error.h"

#include <string.h>

/* One set of lists being written. */
struct lists {
    const struct rd_segments *s;
    const uint16_t *place;
    const uint8_t *traits;
    uint32_t nodes; /* of the input */
    const uint32_t *first;
    const struct rd_edge *pred;
    uint32_t *to_first;
    struct rd_edge *to;
    uint32_t at;
    /* Of a submit: index + 1 in `to` of the last edge from a node, and of the one before it from
     * the same node, which has another distance. */
    uint32_t *last, *before;
};

static rondo_status no_memory(uint32_t nodes)
{
    return rd_error(RONDO_ERR_MEMORY, "no memory for the segments of %u nodes", nodes);
}

static void add(struct lists *l, struct rd_edge edge) { l->to[l->at++] = edge; }

/* An edge to the submit whose list begins at `begin`, unless it is there. */
static void add_once(struct lists *l, uint32_t begin, struct rd_edge edge)
{
    uint32_t head = l->last[edge.from];
    if (head <= begin)
        head = 0; /* of an earlier submit */
    for (uint32_t i = head; i; i = l->before[i - 1])
        if (l->to[i - 1].distance == edge.distance)
            return;
    l->before[l->at] = head;
    add(l, edge);
    l->last[edge.from] = l->at;
}

static struct rd_edge order(uint32_t from)
{
    return (struct rd_edge){ .from = from, .source = RD_EDGE_ORDER };
}

/* Whether the device's queue, or the segment itself, keeps an edge. */
static int stays(const struct lists *l, uint32_t from, uint32_t to)
{
    return l->place[from] == l->place[to] && !rd_segments_by_host(l->traits, from, to);
}

static void write_node(struct lists *l, uint32_t v)
{
    const uint32_t segment = l->s->segment_of[v];
    for (uint32_t e = l->first[v]; e < l->first[v + 1]; e++)
        if (!segment || stays(l, l->pred[e].from, v))
            add(l, l->pred[e]);
    if (segment)
        add(l, order(l->s->segment[segment - 1].settle));
}

static void write_submit(struct lists *l, uint32_t segment)
{
    const struct rd_segment_plan *plan = &l->s->segment[segment];
    const uint32_t begin = l->at;
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t v = l->s->member[plan->first + i];
        for (uint32_t e = l->first[v]; e < l->first[v + 1]; e++) {
            struct rd_edge edge = l->pred[e];
            if (stays(l, edge.from, v)) {
                uint32_t other = l->s->segment_of[edge.from] - 1;
                if (other == segment && !edge.distance)
                    continue;
                edge.from = l->s->segment[other].submit;
            }
            add_once(l, begin, edge);
        }
    }
}

/* Submit and settle of a segment are numbered one after the other, segment by segment. */
static void write_all(struct lists *l)
{
    uint32_t v = 0;
    for (; v < l->nodes; v++) {
        l->to_first[v] = l->at;
        write_node(l, v);
    }
    for (uint32_t i = 0; i < l->s->segments; i++) {
        l->to_first[v++] = l->at;
        write_submit(l, i);
        l->to_first[v++] = l->at;
        add(l, order(l->s->segment[i].submit));
    }
    l->to_first[v] = l->at;
}

/* Each input edge gives two at most: from node to node, and from submit to submit. */
static size_t most_edges(const struct rd_segments *s, const uint32_t *first, uint32_t nodes)
{
    return 2 * (size_t)first[nodes] + s->members + s->segments;
}

static rondo_status rewrite(struct rd_allocator *a, const struct lists *like, uint32_t **first,
                            struct rd_edge **pred, size_t *capacity)
{
    struct lists l = *like;
    const size_t most = most_edges(l.s, l.first, l.nodes);
    rondo_status status = RONDO_OK;
    if (most > UINT32_MAX)
        return rd_error(RONDO_ERR_INVALID, "%u nodes in %u segments have too many edges", l.nodes,
                        l.s->segments);
    l.to_first = rd_alloc_array(a, l.s->nodes + 1ull, sizeof *l.to_first);
    l.to = rd_alloc_array(a, most, sizeof *l.to);
    l.last = rd_zalloc_array(a, l.s->nodes, sizeof *l.last);
    l.before = rd_alloc_array(a, most, sizeof *l.before);
    if (l.to_first && l.to && l.last && l.before)
        write_all(&l);
    else
        status = no_memory(l.nodes);
    rd_free_array(a, l.last, l.s->nodes, sizeof *l.last);
    rd_free_array(a, l.before, most, sizeof *l.before);
    if (status) {
        rd_free_array(a, l.to_first, l.s->nodes + 1ull, sizeof *l.to_first);
        rd_free_array(a, l.to, most, sizeof *l.to);
        return status;
    }
    *first = l.to_first;
    *pred = l.to;
    *capacity = most;
    return RONDO_OK;
}

static rondo_status rewrite_variants(struct rd_allocator *a, struct lists *l,
                                     const struct rd_graph *graph, struct rd_graph *out)
{
    if (!graph->variant)
        return RONDO_OK;
    out->variant = rd_zalloc_array(a, graph->variants, sizeof *out->variant);
    out->variant_of_phase = rd_alloc_array(a, graph->phases, sizeof *out->variant_of_phase);
    if (!out->variant || !out->variant_of_phase)
        return no_memory(graph->nodes);
    memcpy(out->variant_of_phase, graph->variant_of_phase,
           graph->phases * sizeof *out->variant_of_phase);
    for (uint32_t i = 0; i < graph->variants; i++) {
        struct rd_variant *v = &out->variant[i];
        rondo_status status;
        l->first = graph->variant[i].first;
        l->pred = graph->variant[i].pred;
        status = rewrite(a, l, &v->first, &v->pred, &v->pred_capacity);
        if (status)
            return status;
    }
    return RONDO_OK;
}

rondo_status rd_segments_graph(struct rd_allocator *a, const struct rd_segments *s,
                               const uint16_t *place, const uint8_t *traits,
                               const struct rd_graph *graph, struct rd_graph *out)
{
    struct lists l = { .s = s,
                       .place = place,
                       .traits = traits,
                       .nodes = graph->nodes,
                       .first = graph->first,
                       .pred = graph->pred };
    struct rd_graph made = { .nodes = s->nodes,
                             .distance = graph->distance,
                             .serial_boundaries = graph->serial_boundaries,
                             .phases = graph->phases,
                             .variants = graph->variants };
    rondo_status status = rewrite(a, &l, &made.first, &made.pred, &made.pred_capacity);
    if (!status)
        status = rewrite_variants(a, &l, graph, &made);
    if (status) {
        rd_graph_free(a, &made);
        return status;
    }
    *out = made;
    return RONDO_OK;
}
