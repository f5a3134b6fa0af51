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

int rd_lane_where(const struct rd_work *work, int running, struct rd_where *where)
{
    const struct rd_lane *l = (const struct rd_lane *)work; /* its first member */
    const struct rd_track *t;
    const struct rd_program *p;
    const struct rd_frame *ring, *f;
    const char *names, *exec_name;
    const uint32_t *name;
    uint32_t mask, node, offset;
    uint64_t replay;
    uint8_t interpreted;
    int begun;
    if (!LOOK(t, l->track) || !LOOK(begun, l->begun) || !LOOK(where->lane, l->number) ||
        !LOOK(replay, l->replay) || !LOOK(ring, t->ring) || !LOOK(mask, t->ring_mask) ||
        !LOOK(p, t->program) || !LOOK(names, p->names) || !LOOK(name, p->name) ||
        !LOOK(exec_name, p->exec_name))
        return 0;
    f = &ring[replay & mask];
    if ((running && !begun) || !LOOK(where->replay, f->replay) ||
        !LOOK(interpreted, f->interpreted) ||
        !rd_where_text(where->exec, sizeof where->exec, exec_name))
        return 0;
    if ((running ? running_node(l, &node) : !interpreted && next_node(l, &node)) &&
        LOOK(offset, name[node]))
        rd_where_text(where->node, sizeof where->node, names + offset);
    return 1;
}
