/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a lane that another thread drives, or that is being freed: nothing is trusted
 * (src/machine/where.c). */
#include "src/frame/where.h"

#include "src/frame/frame.h"
#include "src/frame/program.h"

#define LOOK(to, from) rd_where_read(&(to), (const void *)&(from), sizeof(to))

/* The node it runs or ran last. */
static int running_node(const struct rd_lane *l, uint32_t *node)
{
    const uint32_t *at;
    return LOOK(at, l->self.view.node) && at && LOOK(*node, *at);
}

/* The node that comes next, if its order is known. */
static int next_node(const struct rd_lane *l, uint32_t *node)
{
    uint32_t position, length;
    const struct rd_op *op;
    return LOOK(position, l->position) && LOOK(length, l->length) && position < length &&
           LOOK(op, l->op) && LOOK(*node, op[position].node);
}

/* The replay of the lane's next frame, or of what it runs. Lanes of a flow go from frame to frame,
 * and whether one of them is mid-replay is not known while it runs. */
static int replay_of(const struct rd_lane *l, const struct rd_track *t, int running,
                     struct rd_where *where, uint8_t *interpreted)
{
    const struct rd_flow *flow;
    const struct rd_frame *ring;
    uint32_t mask;
    uint64_t local;
    int begun;
    if (!LOOK(flow, t->flow) || !LOOK(begun, l->begun) || !LOOK(ring, t->ring) ||
        !LOOK(mask, t->ring_mask) || !LOOK(local, l->replay))
        return 0;
    *interpreted = flow != NULL;
    if (running)
        return (begun || flow) && LOOK(where->replay, l->self.view.replay);
    if (!flow && !LOOK(*interpreted, ring[local & mask].interpreted))
        return 0;
    return LOOK(where->replay, ring[local & mask].replay);
}

int rd_lane_where(const struct rd_work *work, int running, struct rd_where *where)
{
    const struct rd_lane *l = (const struct rd_lane *)work; /* its first member */
    const struct rd_track *t;
    const struct rd_program *p;
    const char *names, *exec_name;
    const uint32_t *name;
    uint32_t node, offset;
    uint8_t interpreted; /* the order of nodes is not known */
    if (!LOOK(t, l->track) || !LOOK(where->lane, l->number) || !LOOK(p, t->program) ||
        !LOOK(names, p->names) || !LOOK(name, p->name) || !LOOK(exec_name, p->exec_name) ||
        !replay_of(l, t, running, where, &interpreted) ||
        !rd_where_text(where->exec, sizeof where->exec, exec_name))
        return 0;
    if ((running ? running_node(l, &node) : !interpreted && next_node(l, &node)) &&
        LOOK(offset, name[node]))
        rd_where_text(where->node, sizeof where->node, names + offset);
    return 1;
}
