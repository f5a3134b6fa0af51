/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are more than a plain function: conditions, patched arguments, waits and signals,
 * detached tasks, ranks of teams, segments of devices. The executors see an op like any other,
 * whose function is rd_node_run and whose argument says the rest; one that is not over at once
 * returns RD_PENDING and keeps what it knows of its replay in the frame's struct rd_pend.
 *
 * Safety. A node runs in one replay of a track at a time, and its op is called by whoever drives
 * its lane: its own entry of a frame's `pend` and its argument bytes are that driver's. Of a team,
 * rank 0's entry is shared by all ranks; see team.c. */
#ifndef RD_FRAME_NODE_H
#define RD_FRAME_NODE_H

#include "src/event/counter.h"
#include "src/frame/frame.h"

enum rd_node_does {
    RD_DO_CALL,
    RD_DO_WAIT,
    RD_DO_SIGNAL,
    RD_DO_DETACHED,
    RD_DO_SPMD,
    RD_DO_HOSTED,
    RD_DO_SUBMIT,
    RD_DO_SETTLE,
};

struct rd_segment_run;

/* All that is set must hold; 0 is always met. */
struct rd_node_when {
    uint32_t param_at, param_bytes; /* any byte is not 0; bytes 0: no such condition */
    uint32_t flag;                  /* slot + 1 whose first element, an int32_t, is not 0 */
    uint32_t every, phase;
};

/* bytes of the block of parameters from `from` on go to arg + to. */
struct rd_node_patch {
    uint32_t from, to, bytes;
};

/* The argument of rd_node_run. What its pointers lead to lies behind it. */
struct rd_node_work {
    rondo_task_fn *fn;
    void *arg; /* of fn; with patches the track's own copy */
    size_t arg_bytes;
    const struct rd_node_when *when;
    const struct rd_node_patch *patch;
    uint32_t when_count, patch_count;
    enum rd_node_does does;
    uint32_t pend; /* index + 1 in a frame's `pend`; 0: it never pends */
    /* A wait or a signal: counter and value, or (counter NULL) the event in the parameter. */
    struct rd_counter_object *counter;
    uint64_t first, step;
    uint32_t event_at;
    /* A rank of a team. */
    uint32_t rank, team, team_pend; /* team_pend: rank 0's `pend` */
    const uint32_t *cpus;           /* RD_DO_HOSTED: of the team, `team` of them */
    struct rd_runtime *rt;
    struct rd_segment_run *segment; /* RD_DO_SUBMIT, RD_DO_SETTLE: src/frame/segment.h */
};

/* Words of a struct rd_pend's `more`. */
enum {
    RD_PEND_STAGE, /* how far the node's own op has come: 0, RD_STAGE_...; of a settle its submit */
    RD_PEND_ENDED, /* of rank 0: ranks that have ended; of a settle: the value to be reached */
    RD_PEND_BARRIER,
    RD_PEND_TICKET, /* of the runtime's gang, + 1 */
};
enum { RD_STAGE_BEGUN = 1, RD_STAGE_RAN = 2 };

int rd_node_run(rondo_task *self, const void *work);
/* The op, which may pend, is to be skipped. 1: it may be, and if others wait for its part they are
 * called off. 0: it is under way and has to be run to its end. By who would run it. */
int rd_node_skip(struct rd_lane *l, struct rd_frame *f, const struct rd_op *e);
/* Whether such an op has begun what cannot be called off. */
int rd_node_under_way(const struct rd_frame *f, const struct rd_op *e);

/* Waits for the other ranks, if a function of an SPMD team runs in `self`. */
void rd_team_barrier(struct rd_self *self);
/* rondo_task_detach, if a detached function runs in `self` and has not detached yet. */
rondo_completion rd_node_detach(struct rd_self *self);
/* Frees what a lane's view holds. */
void rd_self_end(struct rd_allocator *a, struct rd_self *self);

#endif
