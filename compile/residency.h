/* SPDX-License-Identifier: BSD-3-Clause */
/* The residency pass: decides, once, in which memory each byte is when each node runs, and when it
 * moves. Pure: reads an expanded recording some nodes of which are on devices, and gives a list of
 * changes to it; rd_residency_apply makes them. The recording that comes out is one like any other:
 * every access names a slot whose memory is that of the node's processor, copies that move bytes
 * are nodes, and edges follow from accesses by address as ever, edges that keep a reused place from
 * being overwritten too early (also from one replay to the next) among them.
 *
 * Slots that may share bytes are one body. Where all of a body's slots have one geometry, what is
 * current where is a list of boxes per memory; a write subtracts from the others. More than 64
 * boxes are made one by copying what is missing.
 *
 * A device memory holds a slot in one of two ways.
 * - By an instance of its buffers: as large as the buffer, kept from replay to replay and shared
 *   with other execs. What is current in it between replays is found by walking the recording
 *   behind itself until that does not change (the first walk is the prologue, the last the steady
 *   state); what the first replay needs is the keeper's to bring (src/machine/keeper.h).
 * - By a place in the exec's arena of that device, for a part of a replay: temporaries, slots bound
 *   per replay, bodies whose slots do not agree in geometry or ring, and whatever does not fit.
 *   Places are shared one after the other.
 * Under a limit slots with instances that give most per byte keep them; the others take places, and
 * where there is no room the one that is used last again (in the order of the walk) gives its place
 * up: what of it is nowhere else and read later is written back before. No place outlives a
 * replay. */
#ifndef RD_COMPILE_RESIDENCY_H
#define RD_COMPILE_RESIDENCY_H

#include "src/base/boxes.h"
#include "src/device/devices.h"
#include "subgraph/subgraph.h"

/* Memory numbers: 0 the host's, 1 + d device d's. */
enum { RD_BOXES_MOST = 64 };

struct rd_residency_input {
    const struct rd_subgraph *g; /* expanded */
    uint32_t devices;
    const uint64_t *room; /* by device: bytes that the exec may take of it */
    const uint8_t *peers; /* [device * devices + other]: it copies from the other's memory itself */
    /* [slot * (1 + devices) + memory], of slots with buffers: how many bytes an instance of all of
     * its buffers there would take; 0: they have it already (of external memory too). */
    const uint64_t *instance_bytes;
    /* The same index: 1 if all its buffers have an instance there that is not Rondo's: used, never
     * given up. */
    const uint8_t *external;
};

/* A slot added behind the recorded ones: a recorded slot in a device's memory. */
struct rd_twin {
    uint32_t slot;   /* the recorded one */
    uint32_t memory; /* at least 1 */
    int arena;       /* 1: a place in the arena, of `box` alone, at the slot's pitches */
    uint64_t offset; /* in the arena, a multiple of 256 */
    rondo_region box;
};

/* A copy to be inserted. */
struct rd_route {
    uint32_t from, to; /* slots: recorded, or recorded count + twin */
    rondo_region box;
    uint32_t device; /* that makes it */
};

/* One node of the new order: a recorded one, or a route. */
struct rd_turn {
    uint32_t index;
    int is_route;
};

/* What the keeper is told of a recorded slot with buffers (struct rd_stay, slot by slot), in its
 * buffers' geometry. Where buffers of a ring differ in extents it is that of the largest: what lies
 * beyond another's end means nothing. */
struct rd_residency_stay {
    uint32_t slot;
    struct rd_boxes need[RD_MEMORIES_MAX], hold[RD_MEMORIES_MAX];
    struct rd_boxes written;
};

struct rd_residency {
    struct rd_allocator *alloc;
    uint32_t memories; /* 1 + devices */
    struct rd_twin *twin;
    uint32_t twins;
    struct rd_route *route;
    uint32_t routes;
    struct rd_turn *turn; /* nodes of g + routes */
    uint32_t turns;
    uint32_t *slot_of_access; /* by entry of g->accesses: slot, recorded or twin */
    uint16_t *bound;          /* by node: where it runs; copies and fills are chosen for */
    uint8_t *in_order; /* by recorded slot: 1: nodes whose accesses to it commute follow each other
                          in the order of the turns */
    struct rd_residency_stay *stay;
    uint32_t stays;
    uint32_t stay_room, nodes, slots; /* lengths of arrays */
    size_t accesses;
    uint64_t arena_bytes[RD_MEMORIES_MAX];
    /* for rondo_exec_describe */
    uint64_t peak_bytes[RD_MEMORIES_MAX]; /* instances and arena, at most at any time */
    uint64_t moved_bytes[RD_MEMORIES_MAX][RD_MEMORIES_MAX]; /* [from][to], per steady replay */
    uint32_t evictions;
};

/* INVALID: a node whose regions can never be in its device's memory together, naming node, region
 * and the bytes that are missing; one that writes the same bytes through slots that are apart
 * there; a device that the runtime does not have, naming the node; an `at_end` in a device's memory
 * where the slot can have no instance. */
rondo_status rd_residency(struct rd_allocator *a, const struct rd_residency_input *in,
                          struct rd_residency **residency);
void rd_residency_free(struct rd_residency *r); /* may be NULL */

/* The recording with the changes made; nodes of g keep their indices, routes come behind them as
 * copies bound to their device. `place` gives, of a twin, the buffer that stands for it: `ring`-th
 * of the recorded slot's buffers (0 of a twin in the arena), a reference that the recording takes
 * over; NULL with the message set. */
rondo_status rd_residency_apply(const struct rd_subgraph *g, const struct rd_residency *r,
                                struct rd_buffer *(*place)(void *context, const struct rd_twin *t,
                                                           uint32_t ring),
                                void *context, struct rd_subgraph **changed);

/* What the keeper is told of an exec without nodes on devices. */
rondo_status rd_residency_host(struct rd_allocator *a, const struct rd_subgraph *g,
                               struct rd_residency **residency);

#endif
