/* SPDX-License-Identifier: BSD-3-Clause */
/* A world's recording as text, for who looks for a fault. */
#include "subgraph/memory.h"
#include "tests/compile/residency_world.h"

#include <stdio.h>

static void print_boxes(const char *what, const struct rd_boxes *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        fprintf(stderr, " %s", what);
        for (int d = 0; d < 3; d++)
            fprintf(stderr, "%s%lld+%lld", d ? "," : "[", (long long)b->item[i].first[d],
                    (long long)b->item[i].count[d]);
        fprintf(stderr, "]");
    }
}

static void print_node(const struct world *w, uint32_t v)
{
    const struct rd_node *n = &w->applied->nodes.item[v];
    const struct rd_extra *e = rd_node_extra(w->applied, v);
    fprintf(stderr, "%4u %-22s on %-5u when %u/%u%s", v, rd_subgraph_text(w->applied, n->name),
            n->bound, e->when_count, e->when_count ? w->applied->whens.item[e->when].every : 0,
            n->everything ? " all" : "");
    for (uint32_t i = 0; i < n->access_count; i++) {
        const struct rd_access *a = &w->applied->accesses.item[n->access + i];
        uint32_t count;
        const rd_box *box = rd_access_boxes(w->applied, a, &count);
        struct rd_boxes boxes = { (rd_box *)(uintptr_t)box, count, count };
        fprintf(stderr, " | mode %u slot %u%s", a->mode, a->slot,
                a->slot < w->g->slots.count ? "" : "'");
        print_boxes("", &boxes);
    }
    fprintf(stderr, "\n");
}

void world_print(const struct world *w)
{
    for (uint32_t s = 0; w->applied && s < w->applied->slots.count; s++) {
        const struct rd_slot *k = &w->applied->slots.item[s];
        fprintf(stderr, "slot %u '%s' kind %u memory %u alias %u at_end %u buffers", s,
                rd_subgraph_text(w->applied, k->name), k->kind, k->memory, k->alias, k->at_end);
        for (uint32_t b = 0; b < k->count; b++)
            fprintf(stderr, " %s@%td+%zu", k->buffers[b]->name,
                    rd_buffer_base(k->buffers[b]) - w->host, k->buffers[b]->bytes);
        if (s >= w->g->slots.count)
            fprintf(stderr, " of %u arena %d offset %llu", w->r->twin[s - w->g->slots.count].slot,
                    w->r->twin[s - w->g->slots.count].arena,
                    (unsigned long long)w->r->twin[s - w->g->slots.count].offset);
        fprintf(stderr, " first %u\n", k->ring_first);
    }
    for (uint32_t p = 0; w->applied && p < w->applied->nodes.count; p++)
        print_node(w, w->applied->sequence[p]);
    for (uint32_t i = 0; w->r && i < w->r->stays; i++) {
        const struct rd_residency_stay *stay = &w->r->stay[i];
        fprintf(stderr, "stay %u:", stay->slot);
        for (uint32_t m = 0; m < w->r->memories; m++) {
            fprintf(stderr, " m%u", m);
            print_boxes("need", &stay->need[m]);
            print_boxes("hold", &stay->hold[m]);
        }
        print_boxes("written", &stay->written);
        fprintf(stderr, "\n");
    }
}
