/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of devices as ops: one that hands a segment over, one that is over when the device has
 * come to its end, and one per member, which does nothing.
 *
 * Safety. A submission gets the queue's next number under the queue's lock, so numbers and the
 * order in the queue agree. What a settle waits for is written by its submit into the settle's own
 * entry of the frame, before the submit publishes; the settle waits for the submit. Nobody waits
 * for a segment that was not handed over: its settle is skipped, or finds 0. One that was is waited
 * for whatever else fails, so a replay that has ended leaves nothing on the device. */
#ifndef RD_FRAME_SEGMENT_H
#define RD_FRAME_SEGMENT_H

#include "src/device/devices.h"
#include "src/frame/node.h"

#include <pthread.h>

/* A device's queue, as the segments of an exec use it. */
struct rd_segment_queue {
    struct rd_device *device;
    struct rd_queue *queue;
    struct rd_progress progress;
    /* Of handing over: static lanes may submit from several where nodes may block. */
    pthread_mutex_t lock;
    uint64_t value;         /* of the last submission; under the lock */
    struct rd_spans *spans; /* of a trace: the device's row; under the lock */
};

/* A node of a segment. */
struct rd_segment_member {
    uint32_t node;
    uint32_t when_count, patch_count;
    const struct rd_node_when *when;
    int off; /* rondo_exec_enable; changed while nothing is in flight */
    /* A move whose counts are a parameter. */
    uint32_t count_values, count_at;
    int64_t count[3];
    /* A launch. */
    rondo_task_fn *fn;
    void *arg; /* the member's own: parameters are copied into it */
    const struct rd_node_patch *patch;
};

struct rd_segment_run {
    struct rd_segment_queue *queue;
    struct rd_segment *segment;
    struct rd_segment_member *member; /* commands of the segment have the same numbers */
    uint32_t members;
    uint32_t lead;                 /* the node that it is called after */
    uint32_t settle_pend;          /* index + 1 in a frame's `pend` */
    uint8_t *skip;                 /* `members` of each frame */
    struct rd_command_time *times; /* by member; the settle's */
    char text[96];                 /* "the segment of 'pack' and 7 more" */
};

/* rd_command.launch; the context is the member. */
int rd_segment_launch(void *member, const struct rd_segment_call *call, void *native_queue);
/* The op of a member. */
int rd_segment_member_run(rondo_task *self, const void *arg);
/* Lets go of what a queue holds of a trace. Nothing is in flight. */
void rd_segment_queue_end(struct rd_segment_queue *q);

#endif
