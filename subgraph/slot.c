/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and parameters: the named places of a recording that buffers and values fill. */
#include "src/device/devices.h"
#include "subgraph/record.h"

#include <stdio.h>
#include <string.h>

enum { WHO_BYTES = 96 };

static int shape_given(const rondo_shape *s)
{
    return s->elem_bytes || s->extent[0] || s->extent[1] || s->extent[2] || s->pitch_bytes[0] ||
           s->pitch_bytes[1];
}

/* No memory, but elements that accesses name. */
static int is_token(const rondo_slot_desc *desc)
{
    return !desc->shape.elem_bytes && desc->shape.extent[0] && !(desc->flags & RONDO_TEMPORARY);
}

static uint8_t kind_of(const rondo_slot_desc *desc)
{
    if (desc->flags & RONDO_TEMPORARY)
        return RD_SLOT_TEMPORARY;
    if (is_token(desc))
        return RD_SLOT_TOKEN;
    return desc->ring_count ? RD_SLOT_RING : desc->buffer.id ? RD_SLOT_FIXED : RD_SLOT_BOUND;
}

/* References the buffers of a slot whose array has room for them: those at `ready`, or those of the
 * handles. */
static rondo_status take_buffers(struct rd_subgraph *g, const char *who, struct rd_slot *s,
                                 const rondo_buffer *handles, struct rd_buffer *const *ready,
                                 uint32_t count)
{
    uint32_t i;
    rondo_status status = RONDO_OK;
    char detail[RD_MESSAGE_BYTES];
    for (i = 0; i < count; i++) {
        struct rd_buffer *b = ready ? ready[i] : rd_buffer_get(handles[i], &status);
        if (ready)
            rd_buffer_ref(b);
        if (!b) {
            snprintf(detail, sizeof detail, "%s", rd_error_text());
            if (s->kind == RD_SLOT_RING)
                return rd_error(status, "%s: ring[%u]: %s", who, i, detail);
            return rd_error(status, "%s: %s", who, detail);
        }
        s->buffers[i] = b;
        s->count = i + 1;
        if (b->rt != g->rt)
            return rd_error(RONDO_ERR_INVALID, "%s: buffer '%s' is of another runtime", who,
                            b->name);
    }
    return RONDO_OK;
}

static rondo_status check_fit(const char *who, const struct rd_slot *s)
{
    uint32_t i;
    for (i = 0; i < s->count; i++)
        if (s->bytes > s->buffers[i]->bytes)
            return rd_error(RONDO_ERR_INVALID, "%s: its shape spans %zu bytes, buffer '%s' has %zu",
                            who, s->bytes, s->buffers[i]->name, s->buffers[i]->bytes);
    return RONDO_OK;
}

static rondo_status take_shape(const char *who, const rondo_slot_desc *desc, struct rd_slot *s)
{
    rondo_status status;
    if (s->kind == RD_SLOT_TOKEN) {
        rondo_shape shape = desc->shape;
        shape.elem_bytes = 1;
        return rd_shape_complete(who, &shape, &s->shape, &s->bytes);
    }
    if (s->count && !shape_given(&desc->shape)) {
        s->shape = s->buffers[0]->shape;
        s->bytes = s->buffers[0]->bytes;
    } else {
        status = rd_shape_complete(who, &desc->shape, &s->shape, &s->bytes);
        if (status)
            return status;
    }
    return check_fit(who, s);
}

static rondo_status check_desc(const char *who, const rondo_slot_desc *desc)
{
    const char *kind = desc->flags & RONDO_TEMPORARY ? "RONDO_TEMPORARY" : "a token";
    if (desc->flags & ~(uint32_t)(RONDO_TEMPORARY | RONDO_ZEROED))
        return rd_error(RONDO_ERR_INVALID, "%s: flags 0x%x: unknown bits", who, desc->flags);
    if (desc->flags == RONDO_ZEROED)
        return rd_error(RONDO_ERR_INVALID, "%s: RONDO_ZEROED without RONDO_TEMPORARY", who);
    if ((desc->flags & RONDO_TEMPORARY || is_token(desc)) &&
        (desc->buffer.id || desc->ring || desc->ring_count || desc->alias_of.id))
        return rd_error(RONDO_ERR_INVALID, "%s: %s with %s", who, kind,
                        desc->buffer.id     ? "a buffer"
                        : desc->alias_of.id ? "alias_of"
                                            : "a ring");
    if (is_token(desc) && (desc->shape.pitch_bytes[0] || desc->shape.pitch_bytes[1]))
        return rd_error(RONDO_ERR_INVALID, "%s: a token with pitch_bytes %zu, %zu", who,
                        desc->shape.pitch_bytes[0], desc->shape.pitch_bytes[1]);
    if (desc->buffer.id && desc->ring_count)
        return rd_error(RONDO_ERR_INVALID, "%s: it has both a buffer and a ring of %u", who,
                        desc->ring_count);
    if (!desc->ring != !desc->ring_count)
        return rd_error(RONDO_ERR_INVALID, "%s: ring is %s and ring_count %u", who,
                        desc->ring ? "given" : "NULL", desc->ring_count);
    if (desc->ring_count ? desc->ring_first >= desc->ring_count
                         : desc->ring_first || desc->ring_stride)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: ring_first %u and ring_stride %u do not fit ring_count %u", who,
                        desc->ring_first, desc->ring_stride, desc->ring_count);
    return RONDO_OK;
}

/* Where it is to be at the end. What Rondo keeps itself is nowhere then; what a caller binds is
 * his, in host memory. */
static rondo_status take_at_end(const char *who, rondo_memory at_end, struct rd_slot *s)
{
    const uint32_t i = at_end & 0xffffff;
    const int device = at_end >> 24 == RONDO_GPU_MEMORY(0) >> 24;
    if (!at_end)
        return RONDO_OK;
    if (!device && at_end != RONDO_HOST && at_end != RONDO_PINNED)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: at_end is 0x%x, not RONDO_HOST, RONDO_PINNED or RONDO_GPU_MEMORY(i)",
                        who, at_end);
    if (device && i >= RD_DEVICES_MAX)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: at_end is RONDO_GPU_MEMORY(%u), a runtime has at most %d devices", who,
                        i, RD_DEVICES_MAX);
    if (s->kind == RD_SLOT_TEMPORARY || s->kind == RD_SLOT_TOKEN)
        return rd_error(RONDO_ERR_INVALID, "%s: at_end of %s, which holds nothing then", who,
                        s->kind == RD_SLOT_TOKEN ? "a token" : "a temporary");
    if (s->kind == RD_SLOT_BOUND && device)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: at_end is RONDO_GPU_MEMORY(%u), but what is bound per replay is in "
                        "host memory at the end",
                        who, i);
    s->at_end = (uint8_t)(device ? 2 + i : RD_MEMORY_HOST + 1);
    return RONDO_OK;
}

/* The slot in all but its place in the pool, its buffers referenced one by one. */
static rondo_status fill_slot(struct rd_subgraph *g, const char *who, const rondo_slot_desc *desc,
                              struct rd_buffer *const *ready, struct rd_slot *s)
{
    rondo_status status = check_desc(who, desc);
    uint32_t alias;
    if (status)
        return status;
    s->kind = kind_of(desc);
    s->zeroed = (desc->flags & RONDO_ZEROED) != 0;
    s->ring_first = desc->ring_first;
    s->ring_stride = desc->ring_stride ? desc->ring_stride : 1;
    status = take_at_end(who, desc->at_end, s);
    if (status)
        return status;
    if (desc->alias_of.id) {
        char what[WHO_BYTES + 16];
        snprintf(what, sizeof what, "%s: alias_of", who);
        status = rd_subgraph_slot_of(g, desc->alias_of, what, &alias);
        if (status)
            return status;
        if (g->slots.item[alias].kind >= RD_SLOT_TEMPORARY)
            return rd_error(RONDO_ERR_INVALID, "%s: slot '%s' is %s, without a buffer to share",
                            what, rd_subgraph_text(g, g->slots.item[alias].name),
                            g->slots.item[alias].kind == RD_SLOT_TOKEN ? "a token" : "temporary");
        s->alias = g->slots.item[alias].alias;
    }
    status = take_buffers(g, who, s, desc->ring_count ? desc->ring : &desc->buffer, ready,
                          desc->ring_count ? desc->ring_count : s->kind == RD_SLOT_FIXED);
    return status ? status : take_shape(who, desc, s);
}

static void drop_buffers(struct rd_subgraph *g, struct rd_slot *s, uint32_t room)
{
    while (s->count)
        rd_buffer_unref(s->buffers[--s->count]);
    rd_free_array(&g->rt->alloc, s->buffers, room, sizeof *s->buffers);
}

rondo_status rd_token_place(struct rd_subgraph *g, const char *who, struct rd_slot *s)
{
    /* Above all addresses of memory, and below the end of 64 bits. */
    static const uint64_t first = 1ull << 62, room = 1ull << 63;
    if (s->bytes > room - g->tokens_end)
        return rd_error(RONDO_ERR_INVALID,
                        "%s: %zu elements of a token behind %llu of others are too many", who,
                        s->bytes, (unsigned long long)g->tokens_end);
    s->token_base = first + g->tokens_end;
    g->tokens_end += s->bytes;
    return RONDO_OK;
}

static rondo_status add(struct rd_subgraph *g, const rondo_slot_desc *desc,
                        struct rd_buffer *const *ready, rondo_slot *slot)
{
    const char *name = desc->name ? desc->name : "slot";
    uint32_t room = desc->ring_count ? desc->ring_count : desc->buffer.id != 0;
    struct rd_mark mark;
    struct rd_slot s;
    char who[WHO_BYTES];
    rondo_status status;
    snprintf(who, sizeof who, "slot '%.80s'", name);
    memset(&s, 0, sizeof s);
    s.alias = (uint32_t)g->slots.count;
    rd_mark_take(g, &mark);
    if (g->slots.count >= RD_PARTS_MAX || !RD_ROOM(g, slots, 1))
        return rd_no_memory(g);
    s.buffers = room ? rd_zalloc_array(&g->rt->alloc, room, sizeof *s.buffers) : NULL;
    if (room && !s.buffers)
        return rd_no_memory(g);
    status = fill_slot(g, who, desc, ready, &s);
    if (!status)
        status = rd_name_add(g, name, &s.name);
    if (!status && s.kind == RD_SLOT_TOKEN)
        status = rd_token_place(g, who, &s);
    if (status) {
        drop_buffers(g, &s, room);
        rd_mark_restore(g, &mark);
        return status;
    }
    g->slots.item[g->slots.count] = s;
    slot->id = rd_part_id(g->serial, RD_PART_SLOT, g->slots.count++);
    return RONDO_OK;
}

rondo_status rd_slot_add(struct rd_subgraph *g, const rondo_slot_desc *desc, rondo_slot *slot)
{
    return add(g, desc, NULL, slot);
}

rondo_status rd_slot_add_ready(struct rd_subgraph *g, const rondo_slot_desc *desc,
                               struct rd_buffer *const *ready, rondo_slot *slot)
{
    static const rondo_buffer some = { 1 }; /* says that there are buffers, and is not looked up */
    rondo_slot_desc d = *desc;
    if (d.ring_count)
        d.ring = &some;
    else
        d.buffer = some;
    return add(g, &d, ready, slot);
}

/* Aligned to 64, or to the size rounded up to a power of two, whichever is less. */
static size_t param_offset(size_t end, size_t bytes)
{
    size_t align = 1;
    while (align < bytes && align < 64)
        align *= 2;
    return (end + align - 1) & ~(align - 1);
}

rondo_status rd_param_add(struct rd_subgraph *g, const char *name, size_t bytes,
                          const void *initial, rondo_param *param)
{
    struct rd_param p;
    struct rd_mark mark;
    size_t end = g->params_initial.count, offset = param_offset(end, bytes);
    rondo_status status;
    if (!name)
        name = "param";
    if (!bytes)
        return rd_error(RONDO_ERR_INVALID, "parameter '%s': bytes is 0", name);
    if (bytes > UINT32_MAX || offset > UINT32_MAX - bytes)
        return rd_error(RONDO_ERR_INVALID,
                        "parameter '%s': %zu bytes behind the %zu of the others are too many", name,
                        bytes, end);
    rd_mark_take(g, &mark);
    if (g->params.count >= RD_PARTS_MAX || !RD_ROOM(g, params, 1) ||
        !RD_ROOM(g, params_initial, offset + bytes - end))
        return rd_no_memory(g);
    memset(&p, 0, sizeof p);
    status = rd_name_add(g, name, &p.name);
    if (status) {
        rd_mark_restore(g, &mark);
        return status;
    }
    p.bytes = (uint32_t)bytes;
    p.offset = (uint32_t)offset;
    p.has_initial = initial != NULL;
    memset(g->params_initial.item + end, 0, offset + bytes - end);
    if (initial)
        memcpy(g->params_initial.item + offset, initial, bytes);
    g->params_initial.count = offset + bytes;
    g->params.item[g->params.count] = p;
    param->id = rd_part_id(g->serial, RD_PART_PARAM, g->params.count++);
    return RONDO_OK;
}
