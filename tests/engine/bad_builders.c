/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad inputs: loops, calls, copies, fills, edges, slots and parameters. */
#include "tests/engine/bad_inputs.h"

#include <stdio.h>
#include <string.h>

static void do_nothing(void *context) { (void)context; }

/* A loop over v of which `change` is wrong. */
#define LOOP(called, change)                                          \
    static rondo_status called(struct bad *b, int good)               \
    {                                                                 \
        rondo_access a = rondo_chunk(b->v_slot, RONDO_WRITE, 0, 0);   \
        rondo_task_desc t = b->task;                                  \
        rondo_for_desc d = { .task = &t, .range = rondo_span(0, 8) }; \
        t.accesses = &a;                                              \
        if (!good) {                                                  \
            change;                                                   \
        }                                                             \
        return bad_built(b, rondo_record_for(b->g, &d).id);           \
    }
#define COPY(called, change)                                            \
    static rondo_status called(struct bad *b, int good)                 \
    {                                                                   \
        rondo_move_desc d = {                                           \
            .name = "bad",                                              \
            .from = rondo_access_of(b->v_slot, 0, rondo_span(0, 8)),    \
            .to = rondo_access_of(b->u_slot, 0, rondo_box(0, 1, 8, 1)), \
            .count = b->n,                                              \
        };                                                              \
        if (!good) {                                                    \
            change;                                                     \
        }                                                               \
        return bad_built(b, rondo_record_copy(b->g, &d).id);            \
    }
#define FILL(called, change)                                               \
    static rondo_status called(struct bad *b, int good)                    \
    {                                                                      \
        double one = 1;                                                    \
        rondo_move_desc d = { .name = "bad",                               \
                              .to = rondo_write(b->v_slot, rondo_whole()), \
                              .value = &one,                               \
                              .value_bytes = sizeof one };                 \
        if (!good) {                                                       \
            change;                                                        \
        }                                                                  \
        return bad_built(b, rondo_record_fill(b->g, &d).id);               \
    }
#define SLOT(called, change)                                   \
    static rondo_status called(struct bad *b, int good)        \
    {                                                          \
        rondo_slot_desc d = { .name = "bad", .buffer = b->v }; \
        if (!good) {                                           \
            change;                                            \
        }                                                      \
        return bad_built(b, rondo_subgraph_slot(b->g, &d).id); \
    }
#define RING(called, change)                                                  \
    static rondo_status called(struct bad *b, int good)                       \
    {                                                                         \
        rondo_buffer ring[2] = { b->ring[0], b->ring[1] };                    \
        rondo_slot_desc d = { .name = "bad", .ring = ring, .ring_count = 2 }; \
        if (!good) {                                                          \
            change;                                                           \
        }                                                                     \
        return bad_built(b, rondo_subgraph_slot(b->g, &d).id);                \
    }

LOOP(loop_without_task, d.task = NULL)
LOOP(range_negative, d.range.first[0] = -1)
LOOP(range_empty, d.range.count[0] = 0)
LOOP(range_behind_absent, d.range.count[2] = 2)
LOOP(range_of_absent, d.range.first[1] = 3)
LOOP(more_chunks_than_elements, d.chunks[0] = 9)
LOOP(chunks_of_absent, d.chunks[1] = 2)
LOOP(too_many_chunks, (d.range = rondo_box3(0, 0, 0, 4096, 4096, 4096),
                       d.chunks[0] = d.chunks[1] = d.chunks[2] = 2048))
LOOP(chunk_with_region, a.region = rondo_span(0, 4))
LOOP(chunk_beyond, (d.range = rondo_span(0, 66), d.chunks[0] = 2))
LOOP(loop_without_function, t.fn = NULL)
LOOP(loop_after_nothing, (t.after = &b->base, t.after_count = 1, b->base.id = 0))

static rondo_status loop_without_description(struct bad *b, int good)
{
    rondo_for_desc d = { .task = &b->task, .range = rondo_span(0, 8) };
    return bad_built(b, rondo_record_for_sized(b->g, good ? &d : NULL, sizeof d).id);
}

static rondo_status call_without_function(struct bad *b, int good)
{
    return bad_built(b, rondo_record_call(b->g, "bad", good ? do_nothing : NULL, NULL).id);
}

COPY(copy_other_elements, (d.from.slot = b->bytes_slot))
COPY(copy_other_counts, d.from.region.count[0] = 9)
COPY(copy_onto_itself, (d.to = d.from, d.to.region.first[0] = 7))
COPY(copy_with_value, (d.value = b, d.value_bytes = 8))
COPY(copy_with_halo, d.from.halo[0] = 1)
COPY(copy_reads_target, d.to.mode = RONDO_READ)
COPY(copy_writes_source, d.from.mode = RONDO_WRITE)
COPY(copy_count_foreign, (d.count = b->other_param, b->shown = d.count.id))
COPY(copy_count_of_12_bytes, d.count = b->q)
COPY(copy_from_nothing, d.from.slot.id = 0)
COPY(copy_to_nothing, d.to.slot.id = 0)
COPY(copy_beyond, (d.from.region = rondo_span(60, 5)))
COPY(copy_negative_cost, d.cost_ns = -2)

static rondo_status copy_without_description(struct bad *b, int good)
{
    rondo_move_desc d = { .from = rondo_read(b->v_slot, rondo_span(0, 8)),
                          .to = rondo_write(b->u_slot, rondo_box(0, 1, 8, 1)) };
    return bad_built(b, rondo_record_copy_sized(b->g, good ? &d : NULL, sizeof d).id);
}

FILL(fill_without_value, d.value = NULL)
FILL(fill_of_other_size, d.value_bytes = 4)
FILL(fill_with_source, d.from = rondo_read(b->u_slot, rondo_whole()))
FILL(fill_beyond, d.to.region = rondo_span(60, 10))
FILL(fill_after_another, (d.after = &b->other_node, d.after_count = 1, b->shown = d.after->id))
FILL(fill_processor, d.on = RONDO_CPU(2))

#define EDGE(called, from, to, distance)                                 \
    static rondo_status called(struct bad *b, int good)                  \
    {                                                                    \
        return good ? rondo_record_edge(b->g, b->base, b->loop, 1)       \
                    : rondo_record_edge(b->g, (from), (to), (distance)); \
    }
EDGE(edge_from_nothing, (rondo_node){ 0 }, b->loop, 0)
EDGE(edge_to_another, b->base, (b->shown = b->other_node.id, b->other_node), 0)
EDGE(edge_to_slot, b->base, ((rondo_node){ b->shown = b->u_slot.id }), 0)
EDGE(edge_too_far, b->base, b->loop, 256)

SLOT(slot_buffer_and_ring, (d.ring = b->ring, d.ring_count = 2))
SLOT(slot_stride_without_ring, d.ring_stride = 1)
SLOT(slot_buffer_gone, (d.buffer = b->gone, b->shown = b->gone.id))
SLOT(slot_buffer_is_subgraph, (d.buffer.id = b->g.id, b->shown = b->g.id))
SLOT(slot_buffer_foreign, d.buffer = b->foreign)
SLOT(slot_too_large, d.shape = ((rondo_shape){ 8, { 65 }, { 0 } }))
SLOT(slot_without_shape, d.buffer.id = 0)
SLOT(slot_negative_shape, d.shape = ((rondo_shape){ 8, { 4, -1 }, { 0 } }))
SLOT(slot_alias_foreign, (d.alias_of = b->other_slot, b->shown = d.alias_of.id))
SLOT(slot_alias_of_node, (d.alias_of.id = b->base.id, b->shown = d.alias_of.id))
RING(ring_missing, d.ring = NULL)
RING(ring_of_none, d.ring_count = 0)
RING(ring_first_beyond, d.ring_first = 2)
RING(ring_member_gone, (ring[1] = b->gone, b->shown = b->gone.id))
RING(ring_member_none, ring[1].id = 0)
RING(ring_member_too_small, ring[1] = b->narrow)

static rondo_status slot_without_description(struct bad *b, int good)
{
    rondo_slot_desc d = { .buffer = b->v };
    return bad_built(b, rondo_subgraph_slot_sized(b->g, good ? &d : NULL, sizeof d).id);
}

static rondo_status param_of_no_bytes(struct bad *b, int good)
{
    return bad_built(b, rondo_subgraph_param(b->g, "bad", good ? 4 : 0, NULL).id);
}

static rondo_status param_huge(struct bad *b, int good)
{
    return bad_built(b,
                     rondo_subgraph_param(b->g, "bad", good ? 4 : (size_t)UINT32_MAX + 1, NULL).id);
}

#define ROW(title, called, message)               \
    {                                             \
        title, called, RONDO_ERR_INVALID, message \
    }
static const struct bad_case builders[] = {
    ROW("a loop without description", loop_without_description, "rondo_for_desc is NULL"),
    ROW("a loop without task", loop_without_task, "rondo_for_desc: task is NULL"),
    ROW("a negative range", range_negative, "node 'bad': range: first -1, count 8 in dimension 0"),
    ROW("an empty range", range_empty, "node 'bad': range is empty: count[0] is 0"),
    ROW("a range behind an absent dimension", range_behind_absent,
        "node 'bad': range: first 0, count 2 in dimension 2 behind an absent one"),
    ROW("a range of an absent dimension", range_of_absent,
        "node 'bad': range: first 3, count 0 in dimension 1"),
    ROW("more chunks than elements", more_chunks_than_elements,
        "node 'bad': 9 chunks of 8 elements in dimension 0"),
    ROW("chunks of an absent dimension", chunks_of_absent,
        "node 'bad': 2 chunks of 0 elements in dimension 1"),
    ROW("too many chunks", too_many_chunks, "node 'bad': 2048 x 2048 x 2048 chunks are too many"),
    ROW("a chunk with a region", chunk_with_region,
        "node 'bad[0]': access 0 to slot 'v': with RONDO_CHUNK the region must be all zero"),
    ROW("a chunk beyond the slot", chunk_beyond,
        "node 'bad[1]': access 0 to slot 'v': region [33, 66) exceeds extent 64 in dimension 0"),
    ROW("a loop without function", loop_without_function, "node 'bad': fn is NULL"),
    ROW("a loop after nothing", loop_after_nothing, "node 'bad': after[0]: the node handle is {0}"),
    ROW("a call without function", call_without_function, "node 'bad': fn is NULL"),
    ROW("a copy without description", copy_without_description, "rondo_move_desc is NULL"),
    ROW("a copy between element sizes", copy_other_elements,
        "node 'bad': from slot 'bytes' with elements of 1 bytes to slot 'u' with 8"),
    ROW("a copy between counts", copy_other_counts,
        "node 'bad': from holds 9 elements in dimension 0, to holds 8"),
    ROW("a copy onto itself", copy_onto_itself,
        "node 'bad': from (slot 'v') and to (slot 'v') overlap"),
    ROW("a copy with a value", copy_with_value, "node 'bad': a copy with a value"),
    ROW("a copy with a halo", copy_with_halo, "node 'bad': from: halo 1, 0, 0 of a copy or fill"),
    ROW("a copy that reads its target", copy_reads_target, "node 'bad': to: mode is 1"),
    ROW("a copy that writes its source", copy_writes_source, "node 'bad': from: mode is 2"),
    ROW("a count of another recording", copy_count_foreign,
        "node 'bad': count: handle 0x%H is no parameter of subgraph 'step'"),
    ROW("a count of 12 bytes", copy_count_of_12_bytes,
        "node 'bad': count: parameter 'q' has 12 bytes, not 8, 16 or 24"),
    ROW("a copy from nothing", copy_from_nothing, "node 'bad': from: the slot handle is {0}"),
    ROW("a copy to nothing", copy_to_nothing, "node 'bad': to: the slot handle is {0}"),
    ROW("a copy beyond the end", copy_beyond,
        "node 'bad': from to slot 'v': region [60, 65) exceeds extent 64 in dimension 0"),
    ROW("a copy of negative cost", copy_negative_cost, "node 'bad': cost_ns is -2"),
    ROW("a fill without value", fill_without_value, "node 'bad': value is NULL"),
    ROW("a fill of another size", fill_of_other_size,
        "node 'bad': value_bytes is 4, an element of slot 'v' has 8"),
    ROW("a fill with a source", fill_with_source, "node 'bad': a fill with `from`"),
    ROW("a fill beyond the end", fill_beyond,
        "node 'bad': to to slot 'v': region [60, 70) exceeds extent 64 in dimension 0"),
    ROW("a fill after another recording's node", fill_after_another,
        "node 'bad': after[0]: handle 0x%H is no node of subgraph 'step'"),
    ROW("a fill on a processor beyond the last", fill_processor,
        "node 'bad': on is RONDO_CPU(2), the runtime has 2 processors"),
    ROW("an edge from nothing", edge_from_nothing,
        "rondo_record_edge: from: the node handle is {0}"),
    ROW("an edge to another recording", edge_to_another,
        "rondo_record_edge: to: handle 0x%H is of another subgraph than 'step'"),
    ROW("an edge to a slot", edge_to_slot,
        "rondo_record_edge: to: handle 0x%H is no node of subgraph 'step'"),
    ROW("an edge too far", edge_too_far,
        "rondo_record_edge: 'base' to 'loop[0]': distance 256 is more than 255"),
    ROW("a slot without description", slot_without_description, "rondo_slot_desc is NULL"),
    ROW("a buffer and a ring", slot_buffer_and_ring,
        "slot 'bad': it has both a buffer and a ring of 2"),
    ROW("a stride without a ring", slot_stride_without_ring,
        "slot 'bad': ring_first 0 and ring_stride 1 do not fit ring_count 0"),
    { "a buffer that is gone", slot_buffer_gone, RONDO_ERR_STALE,
      "slot 'bad': buffer: handle 0x%H is stale, its object was destroyed" },
    ROW("a subgraph as buffer", slot_buffer_is_subgraph,
        "slot 'bad': buffer: handle 0x%H is subgraph's"),
    ROW("another runtime's buffer", slot_buffer_foreign,
        "slot 'bad': buffer 'foreign' is of another runtime"),
    ROW("a slot larger than its buffer", slot_too_large,
        "slot 'bad': its shape spans 520 bytes, buffer 'v' has 512"),
    ROW("a slot without shape", slot_without_shape, "slot 'bad': shape: elem_bytes is 0"),
    ROW("a slot of negative shape", slot_negative_shape, "slot 'bad': shape: extent[1] is -1"),
    ROW("an alias of another recording", slot_alias_foreign,
        "slot 'bad': alias_of: handle 0x%H is of another subgraph than 'step'"),
    ROW("an alias of a node", slot_alias_of_node,
        "slot 'bad': alias_of: handle 0x%H is no slot of subgraph 'step'"),
    ROW("a ring missing", ring_missing, "slot 'bad': ring is NULL and ring_count 2"),
    ROW("a ring of none", ring_of_none, "slot 'bad': ring is given and ring_count 0"),
    ROW("a ring's first beyond its end", ring_first_beyond,
        "slot 'bad': ring_first 2 and ring_stride 0 do not fit ring_count 2"),
    { "a ring's member that is gone", ring_member_gone, RONDO_ERR_STALE,
      "slot 'bad': ring[1]: buffer: handle 0x%H is stale, its object was destroyed" },
    ROW("a ring's member that is none", ring_member_none,
        "slot 'bad': ring[1]: buffer: the handle is {0}"),
    ROW("a ring's member too small", ring_member_too_small,
        "slot 'bad': its shape spans 128 bytes, buffer 'narrow' has 120"),
    ROW("a parameter of no bytes", param_of_no_bytes, "parameter 'bad': bytes is 0"),
    ROW("a parameter of too many bytes", param_huge,
        "parameter 'bad': 4294967296 bytes behind the 48 of the others are too many"),
};
const struct bad_table bad_builders = { "builder", BAD_BUILDER, builders,
                                        sizeof builders / sizeof *builders };
