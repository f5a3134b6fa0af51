/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of src/frame/node.c that lie in files of their own. */
#ifndef RD_FRAME_NODE_KINDS_H
#define RD_FRAME_NODE_KINDS_H

#include "src/frame/node.h"

/* Calls the node's function. What it returns is an error like any other if it is one of the
 * library's own numbers. */
int rd_node_call(struct rd_self *self, const struct rd_node_work *w);
/* Says why the node fails; returns 1. */
int rd_node_fail(struct rd_self *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether all conditions hold in this replay. */
int rd_node_holds(const struct rd_node_when *when, uint32_t count, const struct rd_self *self);
/* Copies this replay's parameters into an argument. */
void rd_node_patch(char *arg, const struct rd_node_patch *patch, uint32_t count,
                   const struct rd_self *self);

static inline struct rd_pend *rd_node_pend(const struct rd_frame *f, uint32_t pend)
{
    return &f->pend[pend - 1];
}
static inline uint64_t rd_node_stage(struct rd_pend *own)
{
    return rd_load_relaxed(&own->more[RD_PEND_STAGE]); /* the driver's own */
}
static inline void rd_node_set_stage(struct rd_pend *own, uint64_t stage)
{
    rd_store_relaxed(&own->more[RD_PEND_STAGE], stage);
}
static inline int rd_node_pends(struct rd_self *self, const rd_atomic64 *word, uint64_t need,
                                rd_atomic64 *wake)
{
    self->unmet = (struct rd_unmet){ word, need, wake, NULL, 0 };
    return RD_PENDING;
}

/* sync.c */
int rd_node_wait(struct rd_self *self, const struct rd_node_work *w);
int rd_node_signal(struct rd_self *self, const struct rd_node_work *w);
/* detach.c: the conditions of a node not begun hold, its argument is patched. */
int rd_node_detached(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own);
/* segment.c */
int rd_node_submit(struct rd_self *self, const struct rd_node_work *w);
int rd_node_settle(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own);
/* team.c: likewise */
int rd_team_run(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *own);
int rd_team_skip(const struct rd_frame *f, const struct rd_node_work *w);
int rd_team_under_way(const struct rd_frame *f, const struct rd_node_work *w);

#endif
