/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment asks of every exec so that mistakes show: RONDO_CHECK, RONDO_VERIFY,
 * RONDO_SHUFFLE. */
#ifndef RD_EXEC_CHECK_H
#define RD_EXEC_CHECK_H

#include "src/check/regions.h"

struct rd_core;
struct rd_exec;
struct rd_frame;
struct rd_track;

struct rd_exec_check {
    int access;       /* RONDO_CHECK=access: interpreted on one lane */
    int shuffle;      /* RONDO_SHUFFLE: interpreted */
    uint64_t verify;  /* every so many replays; 0: none */
    char off[2][128]; /* why a check or verification that was asked for does not happen; "" */
    int has_regions;
    struct rd_regions regions;
};

/* Reads the environment for an exec of the recording. Changes its mode and schedule to what the
 * checks need. INVALID: a variable's value makes no sense. */
rondo_status rd_exec_check_begin(struct rd_exec *x, const struct rd_subgraph *g);
/* Takes what the checks need of the expanded recording. MEMORY. */
rondo_status rd_exec_check_regions(struct rd_exec *x, const struct rd_subgraph *e);
void rd_exec_check_end(struct rd_exec *x);
/* The check of a track that is otherwise made. MEMORY. */
rondo_status rd_exec_check_track(struct rd_core *c, struct rd_track *t);
void rd_exec_check_free_track(struct rd_track *t);
/* What checks make of a frame that is otherwise filled, but for f->left. */
void rd_exec_check_frame(struct rd_exec *x, struct rd_frame *f);
/* For the description, line by line. */
void rd_exec_check_describe(const struct rd_exec *x, void (*write)(void *context, const char *text),
                            void *context);
/* Whether some replays are not what a plain frame is. */
static inline int rd_exec_is_checked(const struct rd_exec_check *check)
{
    return check->access || check->verify;
}

#endif
