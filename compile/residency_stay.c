/* SPDX-License-Identifier: BSD-3-Clause */
/* What the keeper is told: what an exec relies on between its replays, and leaves behind. */
#include "compile/residency_parts.h"

#include <string.h>

static rondo_status no_memory(const struct rd_subgraph *g)
{
    return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory to tell where its data is",
                    g->name);
}

/* ---- whole buffers, on the host */

/* In the geometry of its buffers, the largest of them. */
static rondo_region whole_of(const struct rd_slot *s)
{
    rondo_region whole = { { 0, 0, 0 }, { 1, 1, 1 } };
    uint32_t i;
    int d;
    for (i = 0; i < s->count; i++)
        for (d = 0; d < 3; d++)
            if (s->buffers[i]->shape.extent[d] > whole.count[d])
                whole.count[d] = s->buffers[i]->shape.extent[d];
    return whole;
}

static int tell_host(struct rd_allocator *a, const struct rd_slot *s, int written,
                     struct rd_residency_stay *stay)
{
    rondo_region whole = whole_of(s);
    return rd_boxes_add(a, &stay->need[0], &whole) || rd_boxes_add(a, &stay->hold[0], &whole) ||
           (written && rd_boxes_add(a, &stay->written, &whole));
}

/* ---- what was walked */

/* hold: what is current between replays and touched; need: what of it the first replay needs. */
static int tell_walked(struct rd_resid *w, uint32_t body, struct rd_residency_stay *stay)
{
    const struct rd_body *b = &w->body[body];
    const rondo_region *whole = &w->line[b->line].whole;
    struct rd_allocator *a = w->alloc;
    uint32_t m;
    int failed = 0, fences = w->fences.count != 0, all = b->ring || b->wide || fences;
    for (m = 0; m < w->memories && !failed; m++) {
        size_t at = (size_t)body * w->memories + m;
        failed = rd_boxes_copy(a, &stay->hold[m], &w->touched[at]);
        if (!m && fences)
            failed = failed || rd_boxes_add(a, &stay->hold[m], whole);
        failed = failed || rd_boxes_intersect(a, &stay->hold[m], &w->keep[at]) ||
                 rd_boxes_copy(a, &stay->need[m], all ? &stay->hold[m] : &w->need[at]);
    }
    if (fences)
        return failed || rd_boxes_add(a, &stay->written, whole);
    return failed || rd_boxes_copy(a, &stay->written, &w->written[body]);
}

/* Of a body in another geometry than its buffers': whole buffers or nothing. */
static int tell_coarse(struct rd_resid *w, uint32_t body, const struct rd_slot *slot,
                       struct rd_residency_stay *stay)
{
    rondo_region whole = whole_of(slot);
    int failed = 0, fences = w->fences.count != 0;
    uint32_t m;
    for (m = 0; m < w->memories && !failed; m++) {
        size_t at = (size_t)body * w->memories + m;
        if (!w->keep[at].count || !(w->touched[at].count || (!m && fences)))
            continue;
        failed = rd_boxes_add(w->alloc, &stay->hold[m], &whole) ||
                 rd_boxes_add(w->alloc, &stay->need[m], &whole);
    }
    return failed ||
           ((w->written[body].count || fences) && rd_boxes_add(w->alloc, &stay->written, &whole));
}

/* ---- all slots */

/* By slot: what of them accesses do, as far as the host alone is concerned. */
static uint8_t *slot_modes(struct rd_allocator *a, const struct rd_subgraph *g, int *fences)
{
    uint8_t *mode = rd_zalloc_array(a, g->slots.count, 1);
    size_t i;
    *fences = 0;
    for (i = 0; mode && i < g->accesses.count; i++)
        mode[g->accesses.item[i].slot] |= g->accesses.item[i].mode & RONDO_READ_WRITE;
    for (i = 0; i < g->nodes.count; i++)
        *fences |= g->nodes.item[i].everything != 0;
    return mode;
}

/* `w` may be NULL: nothing was walked. */
static rondo_status tell(struct rd_allocator *a, const struct rd_subgraph *g, struct rd_resid *w,
                         struct rd_residency *r)
{
    int fences, failed = 0;
    uint8_t *mode = slot_modes(a, g, &fences);
    uint32_t s;
    r->stay = mode ? rd_zalloc_array(a, g->slots.count, sizeof *r->stay) : NULL;
    r->stay_room = r->stay ? (uint32_t)g->slots.count : 0;
    failed = !r->stay;
    for (s = 0; s < g->slots.count && !failed; s++) {
        const struct rd_slot *slot = &g->slots.item[s];
        uint32_t line = w ? w->line_of[s] : RD_NOWHERE;
        struct rd_residency_stay *stay = &r->stay[r->stays];
        if (!slot->count || (!mode[s] && !slot->at_end && line == RD_NOWHERE))
            continue;
        stay->slot = s;
        r->stays++;
        if (line != RD_NOWHERE && w->body[w->line[line].body].coarse)
            failed = tell_coarse(w, w->line[line].body, slot, stay);
        else if (line != RD_NOWHERE && w->body[w->line[line].body].regular)
            failed = tell_walked(w, w->line[line].body, stay);
        else
            failed = tell_host(a, slot, fences || mode[s] & RONDO_WRITE, stay);
    }
    rd_free_array(a, mode, g->slots.count, 1);
    return failed ? no_memory(g) : RONDO_OK;
}

rondo_status rd_resid_stays(struct rd_resid *w, struct rd_residency *r)
{
    return tell(w->alloc, w->g, w, r);
}

/* ---- an exec without nodes on devices */

rondo_status rd_residency_host(struct rd_allocator *a, const struct rd_subgraph *g,
                               struct rd_residency **residency)
{
    struct rd_residency *r = rd_zalloc(a, sizeof *r, _Alignof(struct rd_residency));
    rondo_status status;
    if (!r)
        return no_memory(g);
    r->alloc = a;
    r->memories = 1;
    status = tell(a, g, NULL, r);
    if (status)
        rd_residency_free(r);
    else
        *residency = r;
    return status;
}
