/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recording files share: pools that grow, marks to go back to, names and accesses. */
#ifndef RD_SUBGRAPH_RECORD_H
#define RD_SUBGRAPH_RECORD_H

#include "subgraph/subgraph.h"

/* Node, slot and parameter numbers fit a handle's 30 bits; the recording's offsets 32. */
enum { RD_PARTS_MAX = (1 << 30) - 2 };

/* Room for `more` items in a pool; 0 when there is no memory. */
#define RD_ROOM(g, pool, more)                                                         \
    ((g)->pool.count + (size_t)(more) <= (g)->pool.capacity ||                         \
     rd_pool_grow((g), (void **)&(g)->pool.item, &(g)->pool.capacity, (g)->pool.count, \
                  (size_t)(more), sizeof *(g)->pool.item))
/* As rd_grow, doubling: on a fresh page a fault costs more than all that is written there. */
int rd_pool_grow(struct rd_subgraph *g, void **items, size_t *capacity, size_t count, size_t more,
                 size_t size);

/* How far each pool was filled before a builder began. */
struct rd_mark {
    size_t names, args, slots, params, params_initial, nodes, accesses, boxes, chunks, param_uses,
        patches, edges, holders, groups, extras, whens, syncs, inner, kernels, kernel_args, images,
        sources;
};
void rd_mark_take(const struct rd_subgraph *g, struct rd_mark *mark);
/* Takes back everything added since, without calling any `release`. */
void rd_mark_restore(struct rd_subgraph *g, const struct rd_mark *mark);

/* copy.c: one reference, no handle; NULL when there is no memory. */
struct rd_subgraph *rd_subgraph_copy(const struct rd_subgraph *g);
rondo_status rd_no_memory(const struct rd_subgraph *g);
/* Copies a name; the same text twice in a row is kept once. */
rondo_status rd_name_add(struct rd_subgraph *g, const char *text, uint32_t *name);

/* Whether a handle is of this subgraph and kind; then *index. */
static inline int rd_part_is(const struct rd_subgraph *g, uint64_t id, enum rd_part part,
                             size_t count, uint32_t *index)
{
    *index = ((uint32_t)id & 0x3fffffff) - 1;
    return id >> 32 == g->serial && ((uint32_t)id >> 30) == (uint32_t)part && *index < count;
}

/* Where in a recording an access stands, for messages. */
struct rd_site {
    uint32_t name;     /* of the node */
    const char *field; /* "from"; NULL: "access <index>" */
    uint32_t index;
};
/* access.c: normalises one access and appends it to the pool. `chunk`: the node's, or NULL. */
rondo_status rd_access_add(struct rd_subgraph *g, const struct rd_site *site,
                           const rondo_access *access, const rondo_region *chunk);

/* extra.c: what few nodes have. An `extra` that is to be added begins as all zero bytes, padding
 * included. */
rondo_status rd_check_traits(const struct rd_subgraph *g, const rondo_task_desc *desc,
                             uint32_t name);
void rd_take_traits(const rondo_task_desc *desc, struct rd_extra *extra);
/* A condition with its handles resolved; all zero when it always holds. */
rondo_status rd_check_when(const struct rd_subgraph *g, uint32_t name, const rondo_when *when,
                           struct rd_when *checked);
rondo_status rd_take_when(struct rd_subgraph *g, uint32_t name, const rondo_when *when,
                          struct rd_extra *extra);
/* The read access of a condition's flag, behind the node's own accesses, which are the pool's last.
 * The condition was taken before. */
rondo_status rd_take_flag(struct rd_subgraph *g, const rondo_when *when, struct rd_node *node);
rondo_status rd_flag_access(struct rd_subgraph *g, uint32_t slot, struct rd_node *node);
/* *extra: index + 1; 0 for an extra of all zeros. */
rondo_status rd_extra_add(struct rd_subgraph *g, const struct rd_extra *e, uint32_t *extra);

/* What RONDO_REDUCE and rondo_record_allreduce combine: RONDO_OK if `type` and `op` are known and
 * an element of the slot is made of values of that type. `who` names node and field. */
rondo_status rd_check_reduction(const char *who, const struct rd_slot *slot, uint32_t type,
                                uint32_t op);

/* slot.c: as rd_slot_add, of a slot with buffers: one, or desc->ring_count of them, are at `ready`,
 * and no handle of desc names one. */
rondo_status rd_slot_add_ready(struct rd_subgraph *g, const rondo_slot_desc *desc,
                               struct rd_buffer *const *ready, rondo_slot *slot);
/* images.c: the index of an image, one that is there already if its bytes are the same. `who`, for
 * messages: "node 'relax': image". */
rondo_status rd_image_add(struct rd_subgraph *g, const char *who, const void *bytes, size_t count,
                          uint32_t *image);
/* Takes back those behind the first `count`. */
void rd_images_cut(struct rd_subgraph *g, size_t count, size_t sources);

/* slot.c: gives a token its address range. */
rondo_status rd_token_place(struct rd_subgraph *g, const char *who, struct rd_slot *slot);

/* record_for.c: the handle of the nodes [first, first + count). */
rondo_status rd_group_add(struct rd_subgraph *g, uint32_t first, uint32_t count,
                          rondo_node *handle);
/* move.c: whether a copy's sides may not be those they are, for accesses of one shape each. */
rondo_status rd_check_copy(const struct rd_subgraph *g, uint32_t name, const struct rd_access *from,
                           const struct rd_access *to);

/* exact.c: what recordings hold that no builder takes, for the node recorded last. The exact boxes
 * of an access whose one box is its hull; a chunk; one more condition. */
rondo_status rd_exact_boxes(struct rd_subgraph *g, uint32_t access, const rondo_region *boxes,
                            uint32_t count);
rondo_status rd_exact_chunk(struct rd_subgraph *g, const rondo_region *chunk);
rondo_status rd_exact_when(struct rd_subgraph *g, const rondo_when *when);

/* record.c: what the builders of nodes have in common. */
rondo_status rd_take_processor(const struct rd_subgraph *g, uint32_t name, rondo_processor on,
                               uint16_t *bound);
rondo_status rd_take_cost(const struct rd_subgraph *g, uint32_t name, double cost_ns,
                          uint32_t *cost);
/* A block in args, its offset a multiple of 16. */
rondo_status rd_take_arg(struct rd_subgraph *g, const void *arg, size_t bytes, size_t *offset);
/* Edges from each of `handles` to the nodes [first, first + count). */
rondo_status rd_take_edges(struct rd_subgraph *g, uint32_t name, const char *field,
                           const rondo_node *handles, uint32_t handle_count, uint32_t distance,
                           uint32_t first, uint32_t count);
/* A parameter's index; INVALID naming node and field. */
rondo_status rd_take_param(const struct rd_subgraph *g, uint32_t name, const char *field,
                           rondo_param param, uint32_t *index);
rondo_status rd_check_carried(const struct rd_subgraph *g, uint32_t name, uint32_t count,
                              uint32_t distance);
/* kernel.c: `image`: the index of the image, in place of the description's; NULL: that. */
rondo_status rd_record_kernel_of(struct rd_subgraph *g, const rondo_kernel_desc *desc,
                                 const uint32_t *image, rondo_node *node);
/* Where a copy or a fill runs, or (`device`) what runs on a device only: 0 is the first one. */
rondo_status rd_take_place(const struct rd_subgraph *g, uint32_t name, rondo_processor on,
                           int device, uint16_t *bound);
/* kernel.c: what a launch may not be, beside what a task may not. */
rondo_status rd_check_launch(const struct rd_subgraph *g, const rondo_task_desc *d, uint32_t name);
/* What of a task (node->kind: or a launch) does not depend on its chunk: all but accesses, chunk
 * and edges. */
rondo_status rd_take_task(struct rd_subgraph *g, const rondo_task_desc *desc, struct rd_node *node);
/* The task's accesses, for one node. */
rondo_status rd_take_accesses(struct rd_subgraph *g, const rondo_task_desc *desc,
                              const rondo_region *chunk, struct rd_node *node);
rondo_status rd_take_after(struct rd_subgraph *g, const rondo_task_desc *desc, uint32_t name,
                           uint32_t first, uint32_t count);
rondo_status rd_node_add(struct rd_subgraph *g, const struct rd_node *node, uint32_t *index);
/* The end of a builder of one node: adds it if all went well, else takes back what was added since
 * the mark. */
rondo_status rd_node_finish(struct rd_subgraph *g, const struct rd_mark *mark, rondo_status status,
                            const struct rd_node *node, rondo_node *handle);

#endif
