/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exec has on devices: a queue for each, the kernels and segments of its nodes there, and
 * the memory that they use. */
#ifndef RD_EXEC_DEVICE_H
#define RD_EXEC_DEVICE_H

#include "compile/residency.h"
#include "compile/scratch.h"
#include "compile/segments.h"
#include "src/exec/exec.h"
#include "src/frame/segment.h"

struct rd_page;

/* What placement reckons with: a segment's hand-over, and each of its nodes. */
enum { RD_SUBMIT_NS = 5000, RD_ENQUEUE_NS = 1000 };

/* A device that the exec has nodes on. In the plan it has two processors of its own, behind CPUs
 * and helpers: one that submits, one for settles and members. */
struct rd_exec_place {
    struct rd_segment_queue queue;
};

struct rd_exec_devices {
    struct rd_scratch pool;   /* what commands and members lead to */
    struct rd_segments *plan; /* NULL before they were cut */
    uint32_t nodes;           /* of the recording that was cut: submits and settles come behind */
    struct rd_exec_place *place;
    uint32_t places;
    uint8_t place_of[RD_DEVICES_MAX]; /* by device: index in `place` + 1 */
    struct rd_segment_run *run;       /* by segment */
    struct rd_device_kernel **kernel;
    const struct rd_backend_ops **kernel_ops; /* whose they are */
    uint32_t kernels;
    struct rd_residency *residency; /* where its data is, and when it moves */
    void *arena[RD_DEVICES_MAX];    /* by device: places that its nodes share */
    size_t arena_bytes[RD_DEVICES_MAX];
};

int rd_exec_any_on_device(const struct rd_subgraph *g);
/* The steps of instantiation, in this order. They do nothing for an exec without such nodes. */
/* `e`: the expanded recording. *changed: NULL, or the one to go on with, where every access is in
 * its processor's memory; a reference of the caller's. */
rondo_status rd_exec_devices_begin(struct rd_exec *x, struct rd_subgraph *e,
                                   struct rd_subgraph **changed);
/* Cuts the recipe's graph, that of `e`, into segments, and adds the nodes that submit and settle
 * them to `e`. */
rondo_status rd_exec_devices_cut(struct rd_exec *x, struct rd_subgraph *e);
/* Queues, kernels and segments; the program's tables are there. INVALID naming node and cause. */
rondo_status rd_exec_devices_make(struct rd_exec *x, const struct rd_subgraph *e);
/* Nothing of the exec runs any more. May block. */
void rd_exec_devices_end(struct rd_exec *x);

/* device_memory.c: the changed recording, and the memory that it names. MEMORY, or what the
 * residency pass refuses. */
rondo_status rd_exec_devices_place(struct rd_exec *x, const struct rd_subgraph *e,
                                   struct rd_subgraph **changed);
void rd_exec_devices_free_memory(struct rd_exec *x);

/* device_command.c: a segment's commands and members, in the pool. */
rondo_status rd_exec_command(struct rd_exec *x, const struct rd_subgraph *e, uint32_t node,
                             struct rd_command *c, struct rd_segment_member *m);

/* Whether a node of the program is a member of a segment. */
static inline int rd_exec_is_member(const struct rd_exec *x, uint32_t node)
{
    const struct rd_exec_devices *d = x->devices;
    return d && d->plan && node < d->nodes && d->plan->segment_of[node];
}
/* The segment of a submit or settle. */
struct rd_segment_run *rd_exec_segment_of(const struct rd_exec *x, uint32_t node);
/* The processor of the plan where a node of a device runs. */
uint16_t rd_exec_device_processor(const struct rd_exec *x, const struct rd_node *n);
/* The device that a processor of the plan belongs to, + 1; 0: none. *submits: it is the one that
 * submits. */
uint32_t rd_exec_device_of(const struct rd_exec *x, uint32_t processor, int *submits);
/* device_describe.c */
void rd_exec_devices_count(const struct rd_exec *x, rondo_exec_counts *counts);
void rd_exec_devices_describe(const struct rd_exec *x, const struct rd_page *page);
/* rondo_exec_enable of a member; nothing is in flight. */
void rd_exec_devices_switch(struct rd_exec *x, uint32_t node, int enabled);

#endif
