/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers, slots and parameters out of a file. Buffers are asked for or made; slots refer to them
 * by number, so that two slots over one buffer stay that. */
#include "subgraph/json_reader.h"

#include <inttypes.h>
#include <string.h>

/* `of`: what the shape is of, a token or something with elements. */
static rondo_status read_shape(struct rd_reader *r, const struct rd_json *tree, int token,
                               rondo_shape *shape)
{
    const struct rd_json *v;
    uint64_t elem_bytes = 0;
    int64_t pitch[2] = { 0, 0 };
    rondo_status status = rd_read_tree(r, tree, "shape", &v);
    memset(shape, 0, sizeof *shape);
    if (status || !v)
        return status;
    rd_read_enter(r, "shape", -1);
    status = rd_read_keys(r, v, RD_JSON_SHAPE, 0, "a shape");
    if (!status && !token)
        status = rd_read_need(r, v, "elem_bytes");
    if (!status && token && rd_json_get(v, "elem_bytes"))
        status = rd_read_refuse(r, "elem_bytes", "a token has no bytes");
    if (!status)
        status = rd_read_u64(r, v, "elem_bytes", SIZE_MAX / 4, &elem_bytes);
    if (!status)
        status = rd_read_need(r, v, "extent");
    if (!status)
        status = rd_read_numbers(r, v, "extent", 3, shape->extent);
    if (!status)
        status = rd_read_numbers(r, v, "pitch_bytes", 2, pitch);
    if (!status && !shape->extent[0])
        status = rd_read_refuse(r, "extent", "its first is 0");
    shape->elem_bytes = (size_t)elem_bytes;
    shape->pitch_bytes[0] = (size_t)pitch[0];
    shape->pitch_bytes[1] = (size_t)pitch[1];
    rd_read_leave(r);
    return status;
}

/* ---- buffers */

rondo_status rd_read_buffer_part(struct rd_reader *r, const struct rd_json *tree)
{
    struct rd_read_buffer b;
    const char *name = "buffer";
    uint64_t memory = 0;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_BUFFER, 0, "a buffer");
    memset(&b, 0, sizeof b);
    b.line = r->line;
    if (!status)
        status = rd_read_text(r, tree, "name", &name);
    if (!status)
        status = rd_read_need(r, tree, "shape");
    r->name = name;
    if (!status)
        status = read_shape(r, tree, 0, &b.shape);
    if (!status)
        status = rd_read_told(r, rd_shape_complete("a buffer", &b.shape, &b.shape, &b.bytes));
    if (!status)
        status = rd_read_u64(r, tree, "memory", UINT32_MAX - 1, &memory);
    if (!status)
        status = rd_read_u64(r, tree, "offset", SIZE_MAX / 4, &b.offset);
    b.memory = rd_json_get(tree, "memory") ? (uint32_t)memory + 1 : 0;
    if (!status && b.offset && !b.memory)
        status = rd_read_refuse(r, "offset", "without a memory");
    /* Kept among the recording's names, and freed with it. */
    if (!status)
        status = rd_read_told(r, rd_name_add(r->g, name, &b.name));
    if (!status && !RD_READ_ROOM(r, buffers, 1))
        status = rd_read_no_memory(r);
    if (!status)
        r->buffers.item[r->buffers.count++] = b;
    return status;
}

static void stand_at(struct rd_reader *r, size_t i)
{
    r->list = "buffers";
    r->index = i;
    r->line = r->buffers.item[i].line;
    r->name = rd_subgraph_text(r->g, r->buffers.item[i].name);
}

static rondo_status ask_buffer(struct rd_reader *r, size_t i)
{
    struct rd_read_buffer *b = &r->buffers.item[i];
    rondo_buffer given = { 0 };
    rondo_status status;
    stand_at(r, i);
    if (!r->options->buffer)
        return RONDO_OK;
    status = r->options->buffer(r->options->context, r->name, (uint32_t)i, &b->shape, &given);
    if (status)
        return rd_read_stopped(r, "buffer", status);
    if (!given.id)
        return RONDO_OK;
    b->buffer = rd_buffer_get(given, &status);
    return b->buffer ? RONDO_OK : rd_read_told(r, status);
}

/* The bytes of the memories that several buffers are parts of: of those with a buffer that is not
 * given. bytes[m] is 0 where there is none. */
static rondo_status measure(struct rd_reader *r, uint64_t *bytes)
{
    uint64_t end, more, *m;
    rondo_status status = RONDO_OK;
    size_t i;
    for (i = 0; i < r->buffers.count && !status; i++) {
        const struct rd_read_buffer *b = &r->buffers.item[i];
        stand_at(r, i);
        if (b->memory > r->buffers.count)
            return rd_read_refuse(r, "memory", "%u of %zu buffers", b->memory - 1,
                                  r->buffers.count);
        if (b->buffer)
            continue;
        more = end = b->offset + b->bytes; /* neither is over a quarter of what there is */
        if (b->memory) {
            m = &bytes[b->memory - 1];
            more = end > *m ? end - *m : 0;
            *m += more;
        }
        status = rd_read_spend(r, NULL, more);
    }
    return status;
}

/* A buffer of the runtime's memory; `whole`: a part of that one. */
static rondo_status make_buffer(struct rd_reader *r, const char *name, const rondo_shape *shape,
                                struct rd_buffer *whole, uint64_t offset, struct rd_buffer **buffer)
{
    rondo_buffer_desc d = { .name = name, .shape = *shape };
    rondo_status status;
    if (whole) {
        d.host = rd_buffer_base(whole) + offset;
        return rd_read_told(r, rd_buffer_create_part(whole, &d, buffer));
    }
    rd_runtime_ref(r->g->rt);
    status = rd_buffer_create(r->g->rt, &d, buffer);
    if (status)
        rd_runtime_unref(r->g->rt);
    return rd_read_told(r, status);
}

static rondo_status make_buffers(struct rd_reader *r, const uint64_t *bytes,
                                 struct rd_buffer **whole)
{
    rondo_status status = RONDO_OK;
    size_t i;
    for (i = 0; i < r->buffers.count && !status; i++) {
        struct rd_read_buffer *b = &r->buffers.item[i];
        const uint32_t m = b->memory;
        rondo_shape all = { 1, { 0, 0, 0 }, { 0, 0 } };
        stand_at(r, i);
        if (b->buffer)
            continue;
        if (m && !whole[m - 1]) {
            all.extent[0] = (int64_t)bytes[m - 1];
            status = make_buffer(r, "memory", &all, NULL, 0, &whole[m - 1]);
        }
        if (!status)
            status =
                make_buffer(r, r->name, &b->shape, m ? whole[m - 1] : NULL, b->offset, &b->buffer);
    }
    return status;
}

rondo_status rd_read_buffers_made(struct rd_reader *r)
{
    size_t i, n = r->buffers.count;
    uint64_t *bytes = rd_zalloc_array(r->a, n, sizeof *bytes);
    struct rd_buffer **whole = rd_zalloc_array(r->a, n, sizeof *whole);
    rondo_status status = bytes && whole ? RONDO_OK : rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++)
        status = ask_buffer(r, i);
    if (!status)
        status = measure(r, bytes);
    if (!status)
        status = make_buffers(r, bytes, whole);
    for (i = 0; whole && i < n; i++)
        if (whole[i])
            rd_buffer_unref(whole[i]); /* its parts have their own */
    rd_free_array(r->a, bytes, n, sizeof *bytes);
    rd_free_array(r->a, whole, n, sizeof *whole);
    return status;
}

/* ---- slots */

/* Refers to a buffer by its number. */
static rondo_status add_buffer(struct rd_reader *r, const char *key, uint64_t number)
{
    if (number >= r->buffers.count)
        return rd_read_refuse(r, key, "buffer %" PRIu64 " of %zu", number, r->buffers.count);
    if (!RD_READ_ROOM(r, ring, 1))
        return rd_read_no_memory(r);
    r->ring.item[r->ring.count++] = r->buffers.item[number].buffer;
    return RONDO_OK;
}

/* The buffers of a fixed slot or a ring; *first: the first one's number. */
static rondo_status read_buffers(struct rd_reader *r, const struct rd_json *tree, uint32_t kind,
                                 uint64_t *first)
{
    const struct rd_json *list = NULL;
    const char *key = kind == RD_SLOT_RING ? "buffers" : "buffer";
    uint64_t number = 0;
    size_t i;
    rondo_status status = rd_read_need(r, tree, key);
    r->ring.count = 0;
    if (!status && kind == RD_SLOT_FIXED) {
        status = rd_read_u64(r, tree, key, UINT32_MAX, first);
        return status ? status : add_buffer(r, key, *first);
    }
    if (!status)
        status = rd_read_list(r, tree, key, &list);
    if (!status && (!rd_json_count(list) || rd_json_count(list) > UINT32_MAX))
        status = rd_read_refuse(r, key, "%zu buffers in a ring", rd_json_count(list));
    for (i = 0; !status && i < rd_json_count(list); i++) {
        status = rd_read_element(r, list, key, i, UINT32_MAX, &number);
        if (!status)
            status = add_buffer(r, key, number);
        *first = i ? *first : number;
    }
    return status;
}

static rondo_status read_ring(struct rd_reader *r, const struct rd_json *tree, rondo_slot_desc *d)
{
    rondo_status status = rd_read_u32(r, tree, "first", &d->ring_first);
    d->ring_count = (uint32_t)r->ring.count;
    return status ? status : rd_read_u32(r, tree, "stride", &d->ring_stride);
}

static rondo_status read_kind(struct rd_reader *r, const struct rd_json *tree, uint32_t *kind)
{
    const char *name = "slot";
    rondo_status status = rd_read_text(r, tree, "name", &name);
    r->name = name;
    *kind = RD_SLOT_BOUND;
    if (!status)
        status = rd_read_word(r, tree, "kind", rd_json_slot_kinds, kind);
    return status ? status : rd_read_keys(r, tree, RD_JSON_SLOT, *kind, "a slot of this kind");
}

/* "host", or a device's memory. */
static rondo_status read_at_end(struct rd_reader *r, const struct rd_json *tree,
                                rondo_memory *at_end)
{
    const char *text = NULL;
    uint32_t device = 0;
    rondo_status status = rd_read_text(r, tree, "at_end", &text);
    if (status || !text)
        return status;
    if (!strcmp(text, "host")) {
        *at_end = RONDO_HOST;
        return RONDO_OK;
    }
    status = rd_read_device(r, "at_end", text, &device);
    *at_end = RONDO_GPU_MEMORY(device);
    return status;
}

/* What the file says of it, and which buffers it has; its shape in full, so that a buffer that is
 * given in place of the file's changes nothing. */
static rondo_status read_slot(struct rd_reader *r, const struct rd_json *tree, uint32_t kind,
                              rondo_slot_desc *d)
{
    int zeroed = 0, memory = kind == RD_SLOT_FIXED || kind == RD_SLOT_RING;
    uint64_t first = 0;
    rondo_status status = read_shape(r, tree, kind == RD_SLOT_TOKEN, &d->shape);
    r->ring.count = 0;
    if (!status && memory)
        status = read_buffers(r, tree, kind, &first);
    else if (!status)
        status = rd_read_need(r, tree, "shape");
    if (!status && memory && !rd_json_get(tree, "shape"))
        d->shape = r->buffers.item[first].shape;
    if (!status && kind == RD_SLOT_RING)
        status = read_ring(r, tree, d);
    if (!status)
        status = rd_read_bool(r, tree, "zeroed", &zeroed);
    if (kind == RD_SLOT_TEMPORARY)
        d->flags = (uint32_t)(zeroed ? RONDO_TEMPORARY | RONDO_ZEROED : RONDO_TEMPORARY);
    if (!status)
        status = rd_read_slot(r, tree, "alias_of", &d->alias_of);
    return status ? status : read_at_end(r, tree, &d->at_end);
}

rondo_status rd_read_slot_part(struct rd_reader *r, const struct rd_json *tree)
{
    struct rd_subgraph *g = r->g;
    rondo_slot_desc d;
    rondo_slot slot;
    uint32_t kind, index = (uint32_t)g->slots.count;
    rondo_status status = read_kind(r, tree, &kind);
    memset(&d, 0, sizeof d);
    d.name = r->name;
    if (!status)
        status = read_slot(r, tree, kind, &d);
    if (!status)
        status = rd_read_told(r, r->ring.count ? rd_slot_add_ready(g, &d, r->ring.item, &slot)
                                               : rd_slot_add(g, &d, &slot));
    if (!status && !rd_names_add(g, &r->slot_names, g->slots.item, sizeof *g->slots.item, index))
        status = rd_read_no_memory(r);
    return status;
}

/* ---- parameters */

rondo_status rd_read_param_part(struct rd_reader *r, const struct rd_json *tree)
{
    struct rd_subgraph *g = r->g;
    const char *name = "param";
    uint64_t bytes = 0;
    uint32_t index = (uint32_t)g->params.count;
    rondo_param param;
    int given = 0;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_PARAM, 0, "a parameter");
    if (!status)
        status = rd_read_text(r, tree, "name", &name);
    r->name = name;
    if (!status)
        status = rd_read_need(r, tree, "bytes");
    if (!status)
        status = rd_read_u64(r, tree, "bytes", UINT32_MAX, &bytes);
    if (!status)
        status = rd_read_hex(r, tree, "initial", &given);
    if (!status && given && r->bytes.count != bytes)
        status = rd_read_refuse(r, "initial", "%zu bytes, the parameter has %" PRIu64,
                                r->bytes.count, bytes);
    if (!status)
        status = rd_read_spend(r, "bytes", bytes);
    if (!status)
        status = rd_read_told(
            r, rd_param_add(g, name, (size_t)bytes, given ? r->bytes.item : NULL, &param));
    if (!status && !rd_names_add(g, &r->param_names, g->params.item, sizeof *g->params.item, index))
        status = rd_read_no_memory(r);
    return status;
}
