/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses made exact: slot, mode, region, halo and flags become boxes of elements. */
#include "subgraph/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FLAGS = RONDO_CLIP | RONDO_WRAP | RONDO_STAR | RONDO_CHUNK, BOXES_MAX = 16 };

/* Up to two stretches of one dimension. */
struct stretches {
    int count;
    int64_t first[2], length[2];
};

/* An access while it is made exact. */
struct exact {
    struct rd_subgraph *g;
    const struct rd_site *site;
    const rondo_access *in;
    const struct rd_slot *slot; /* NULL: not known yet */
    rd_box core, hull;
    rd_box box[BOXES_MAX];
    uint32_t count;
};

static void name_field(const struct exact *e, char *field, size_t bytes)
{
    if (e->site->field)
        snprintf(field, bytes, "%s", e->site->field);
    else
        snprintf(field, bytes, "access %u", e->site->index);
}

static rondo_status __attribute__((format(printf, 2, 3)))
refuse(const struct exact *e, const char *format, ...)
{
    char detail[RD_MESSAGE_BYTES], field[32];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    name_field(e, field, sizeof field);
    return rd_error(RONDO_ERR_INVALID, "node '%.100s': %s%s%.100s%s: %s",
                    rd_subgraph_text(e->g, e->site->name), field, e->slot ? " to slot '" : "",
                    e->slot ? rd_subgraph_text(e->g, e->slot->name) : "", e->slot ? "'" : "",
                    detail);
}

static rondo_status find_slot(struct exact *e, uint32_t *slot)
{
    const rondo_slot handle = e->in->slot;
    if (!rd_part_is(e->g, handle.id, RD_PART_SLOT, e->g->slots.count, slot)) {
        if (!handle.id)
            return refuse(e, "the slot handle is {0}");
        return refuse(e, "slot handle 0x%llx is not of subgraph '%s'",
                      (unsigned long long)handle.id, e->g->name);
    }
    e->slot = &e->g->slots.item[*slot];
    return RONDO_OK;
}

static int known_mode(uint32_t mode)
{
    return mode == RONDO_READ || mode == RONDO_WRITE || mode == RONDO_READ_WRITE ||
           mode == RONDO_COMMUTE || mode == RONDO_REDUCE;
}

rondo_status rd_check_reduction(const char *who, const struct rd_slot *slot, uint32_t type,
                                uint32_t op)
{
    static const uint8_t bytes[] = { 0, 8, 4, 8, 4 }; /* by type */
    if (type < RONDO_F64 || type > RONDO_I32)
        return rd_error(RONDO_ERR_INVALID, "%s: type is %u", who, type);
    if (op < RONDO_SUM || op > RONDO_MAX)
        return rd_error(RONDO_ERR_INVALID, "%s: op is %u", who, op);
    if (slot->kind == RD_SLOT_TOKEN)
        return rd_error(RONDO_ERR_INVALID, "%s: a token, with nothing to combine", who);
    if (slot->shape.elem_bytes % bytes[type])
        return rd_error(RONDO_ERR_INVALID, "%s: an element has %zu bytes, type %u has %u", who,
                        slot->shape.elem_bytes, type, bytes[type]);
    return RONDO_OK;
}

static rondo_status check_reduce(const struct exact *e)
{
    char who[RD_MESSAGE_BYTES], field[32];
    if (e->in->flags & RONDO_WRAP)
        return refuse(e, "RONDO_REDUCE with RONDO_WRAP: a share is one box");
    name_field(e, field, sizeof field);
    snprintf(who, sizeof who, "node '%.100s': %s to slot '%.100s'",
             rd_subgraph_text(e->g, e->site->name), field, rd_subgraph_text(e->g, e->slot->name));
    return rd_check_reduction(who, e->slot, e->in->type, e->in->op);
}

static rondo_status check_fields(struct exact *e, const rondo_region *chunk)
{
    const rondo_access *in = e->in;
    static const rondo_region none;
    if (!known_mode(in->mode))
        return refuse(e, "mode is %u", in->mode);
    if (in->flags & ~FLAGS)
        return refuse(e, "flags 0x%x: unknown bits", in->flags);
    if (in->zero16 || in->zero32)
        return refuse(e, "reserved fields are %u, %u, not 0", in->zero16, in->zero32);
    if (in->mode != RONDO_REDUCE && (in->type || in->op))
        return refuse(e, "type %u and op %u are for RONDO_REDUCE, mode is %u", in->type, in->op,
                      in->mode);
    if (in->flags & RONDO_CHUNK && !chunk)
        return refuse(e, "RONDO_CHUNK is for rondo_record_for only");
    if (in->flags & RONDO_CHUNK && memcmp(&in->region, &none, sizeof none))
        return refuse(e, "with RONDO_CHUNK the region must be all zero");
    if ((in->flags & (RONDO_CLIP | RONDO_WRAP)) == (RONDO_CLIP | RONDO_WRAP))
        return refuse(e, "RONDO_CLIP and RONDO_WRAP exclude each other");
    if (in->flags & RONDO_WRAP && !in->halo[0] && !in->halo[1] && !in->halo[2])
        return refuse(e, "RONDO_WRAP without a halo");
    return in->mode == RONDO_REDUCE ? check_reduce(e) : RONDO_OK;
}

static rondo_status take_region(struct exact *e, const rondo_region *region)
{
    int d;
    for (d = 0; d < 3; d++) {
        int64_t first = region->first[d], count = region->count[d],
                extent = e->slot->shape.extent[d];
        if (first < 0 || count < 0)
            return refuse(e, "region: first %lld, count %lld in dimension %d", (long long)first,
                          (long long)count, d);
        if (first >= extent)
            return refuse(e, "region begins at %lld, extent is %lld in dimension %d",
                          (long long)first, (long long)extent, d);
        if (count > extent - first)
            return refuse(e, "region [%lld, %lld) exceeds extent %lld in dimension %d",
                          (long long)first,
                          (long long)(count > INT64_MAX - first ? INT64_MAX : first + count),
                          (long long)extent, d);
        e->core.first[d] = first;
        e->core.count[d] = count ? count : extent - first;
    }
    return RONDO_OK;
}

static rondo_status check_halo(struct exact *e)
{
    int d;
    for (d = 0; d < 3; d++) {
        int64_t halo = e->in->halo[d], extent = e->slot->shape.extent[d];
        int64_t first = e->core.first[d], end = first + e->core.count[d];
        if (halo < 0 || halo > extent)
            return refuse(e, "halo %lld with extent %lld in dimension %d", (long long)halo,
                          (long long)extent, d);
        if (!(e->in->flags & (RONDO_CLIP | RONDO_WRAP)) && (first < halo || halo > extent - end))
            return refuse(e,
                          "region [%lld, %lld) with halo %lld exceeds extent %lld in dimension %d",
                          (long long)first, (long long)end, (long long)halo, (long long)extent, d);
    }
    return RONDO_OK;
}

/* What of [first, end) lies in the slot: clipped to the border, or folded into it. */
static struct stretches fold(const struct exact *e, int d, int64_t first, int64_t end)
{
    int64_t extent = e->slot->shape.extent[d];
    struct stretches s = { 0, { 0, 0 }, { 0, 0 } };
    if (e->in->flags & RONDO_WRAP && end - first >= extent) {
        first = 0;
        end = extent;
    } else if (e->in->flags & RONDO_WRAP) {
        int64_t shift = first < 0 ? extent : 0;
        first += shift;
        end += shift;
        if (end > extent) {
            s.length[s.count++] = end - extent; /* from 0 on */
            end = extent;
        }
    } else {
        first = first < 0 ? 0 : first;
        end = end > extent ? extent : end;
    }
    if (end > first) {
        s.first[s.count] = first;
        s.length[s.count++] = end - first;
    }
    return s;
}

/* Adds the boxes that three dimensions' stretches span. */
static void span_boxes(struct exact *e, const struct stretches s[3])
{
    int i, j, k;
    for (k = 0; k < s[2].count; k++)
        for (j = 0; j < s[1].count; j++)
            for (i = 0; i < s[0].count; i++) {
                rd_box *b = &e->box[e->count++];
                b->first[0] = s[0].first[i];
                b->count[0] = s[0].length[i];
                b->first[1] = s[1].first[j];
                b->count[1] = s[1].length[j];
                b->first[2] = s[2].first[k];
                b->count[2] = s[2].length[k];
            }
}

static struct stretches core_of(const struct exact *e, int d)
{
    return fold(e, d, e->core.first[d], e->core.first[d] + e->core.count[d]);
}

static struct stretches wide_of(const struct exact *e, int d)
{
    int64_t first = e->core.first[d], halo = e->in->halo[d];
    return fold(e, d, first - halo, first + e->core.count[d] + halo);
}

/* The core widened in the first dimension with a halo, and two slabs for each other one: at most
 * 2 + 2 * 2 * 2 boxes. */
static void star_boxes(struct exact *e, int wide)
{
    struct stretches s[3];
    int d, k;
    for (d = 0; d < 3; d++)
        s[d] = d == wide ? wide_of(e, d) : core_of(e, d);
    span_boxes(e, s);
    s[wide] = core_of(e, wide);
    for (k = wide + 1; k < 3; k++) {
        int64_t first = e->core.first[k], end = first + e->core.count[k], halo = e->in->halo[k];
        if (!halo)
            continue;
        s[k] = fold(e, k, first - halo, first);
        span_boxes(e, s);
        s[k] = fold(e, k, end, end + halo);
        span_boxes(e, s);
        s[k] = core_of(e, k);
    }
}

static void make_boxes(struct exact *e)
{
    struct stretches s[3];
    int d, wide = -1, halos = 0;
    e->count = 0;
    for (d = 0; d < 3; d++) {
        int64_t halo = e->in->halo[d], extent = e->slot->shape.extent[d];
        int64_t first = e->core.first[d] - halo, end = first + e->core.count[d] + 2 * halo;
        first = first < 0 ? 0 : first;
        end = end > extent ? extent : end;
        e->hull.first[d] = first;
        e->hull.count[d] = end - first;
        halos += halo != 0;
        if (halo && wide < 0)
            wide = d;
    }
    if (e->in->flags & RONDO_STAR && halos > 1) {
        star_boxes(e, wide);
        return;
    }
    for (d = 0; d < 3; d++)
        s[d] = wide_of(e, d);
    span_boxes(e, s);
}

/* Whether the box recorded last is this one: equal accesses in a row share it. */
static int is_last_box(const struct rd_subgraph *g, const rd_box *box)
{
    return g->boxes.count && !memcmp(&g->boxes.item[g->boxes.count - 1], box, sizeof *box);
}

static rondo_status store(struct exact *e, uint32_t slot)
{
    struct rd_subgraph *g = e->g;
    struct rd_access *a;
    int plain = e->count == 1 && !memcmp(&e->box[0], &e->hull, sizeof e->hull);
    uint32_t count = plain ? 0 : e->count;
    if (g->boxes.count > UINT32_MAX - BOXES_MAX - 1 || g->accesses.count >= UINT32_MAX ||
        !RD_ROOM(g, accesses, 1) || !RD_ROOM(g, boxes, count + 1))
        return rd_no_memory(g);
    a = &g->accesses.item[g->accesses.count++];
    memset(a, 0, sizeof *a);
    a->slot = slot;
    a->mode = e->in->mode;
    a->type = e->in->type;
    a->op = e->in->op;
    a->box_count = count;
    if (plain && is_last_box(g, &e->hull)) {
        a->box = (uint32_t)g->boxes.count - 1;
        return RONDO_OK;
    }
    a->box = (uint32_t)g->boxes.count;
    g->boxes.item[g->boxes.count++] = e->hull;
    memcpy(g->boxes.item + g->boxes.count, e->box, count * sizeof *e->box);
    g->boxes.count += count;
    return RONDO_OK;
}

rondo_status rd_access_add(struct rd_subgraph *g, const struct rd_site *site,
                           const rondo_access *access, const rondo_region *chunk)
{
    struct exact e;
    uint32_t slot;
    rondo_status status;
    e.g = g;
    e.site = site;
    e.in = access;
    e.slot = NULL;
    status = find_slot(&e, &slot);
    if (!status)
        status = check_fields(&e, chunk);
    if (!status)
        status = take_region(&e, access->flags & RONDO_CHUNK ? chunk : &access->region);
    if (!status)
        status = check_halo(&e);
    if (status)
        return status;
    make_boxes(&e);
    return store(&e, slot);
}
