/* SPDX-License-Identifier: BSD-3-Clause */
/* First touch: each lane's own processor writes a byte of every page that the lane's nodes write,
 * the byte that is there, so that memory which has no pages yet gets them near it. */
#include "src/exec/exec.h"

#include "src/base/os.h"
#include "src/machine/worker.h"

#include <unistd.h>

struct toucher {
    struct rd_work work; /* first; on the agenda of the lane's worker, once */
    struct rd_exec *x;
    struct rd_lane *lane;
    rd_atomic64 *left;
};

/* Who waits for lanes to be touched. Of all execs: the last one to touch wakes there when the
 * waiter may be gone already. */
static rd_atomic64 wake;

/* A write that changes nothing, and does not undo another's: lanes may touch the same bytes. */
static void touch_byte(char *byte)
{
    char value = __atomic_load_n(byte, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(byte, &value, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void touch_bytes(char *from, size_t bytes, size_t page)
{
    for (size_t at = 0; at < bytes; at += page)
        touch_byte(from + at);
    if (bytes)
        touch_byte(from + bytes - 1);
}

static void touch_box(char *base, const rondo_shape *shape, const rondo_region *box, size_t page)
{
    size_t row = (size_t)box->count[0] * shape->elem_bytes;
    for (int64_t z = 0; z < box->count[2]; z++)
        for (int64_t y = 0; y < box->count[1]; y++)
            touch_bytes(base + (size_t)box->first[0] * shape->elem_bytes +
                            (size_t)(box->first[1] + y) * shape->pitch_bytes[0] +
                            (size_t)(box->first[2] + z) * shape->pitch_bytes[1],
                        row, page);
}

static void touch_slot(const struct rd_exec *x, uint32_t slot, const rondo_region *box, size_t page)
{
    const struct rd_exec_slot *s = &x->slot[slot];
    if (s->memory) /* a device's */
        return;
    for (uint32_t i = 0; i < s->count; i++) /* of a ring all; of what is bound none */
        if (!s->buffers[i]->shadow_of && rd_buffer_base(s->buffers[i]))
            touch_box(rd_buffer_base(s->buffers[i]), &x->program.shapes[slot], box, page);
}

static void touch_lane(const struct rd_exec *x, const struct rd_lane *l)
{
    const struct rd_program *p = &x->program;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (uint32_t i = 0; i < l->length; i++) {
        const rondo_task_node *n = &p->node[l->op[i].node];
        for (uint32_t k = n[0].place; k < n[1].place; k++)
            if (p->modes[k] & RONDO_WRITE)
                touch_slot(x, p->places[k], &p->views[k], page);
    }
}

static void end(struct toucher *t)
{
    /* Release: what was touched; pairs with wait_for_all. The last look at the toucher. */
    if (rd_sub_acq_rel(t->left, 1) == 1)
        rd_park_wake(&wake);
}

static enum rd_advance advance(struct rd_work *work, struct rd_unmet *unmet)
{
    struct toucher *t = (struct toucher *)work;
    (void)unmet;
    touch_lane(t->x, t->lane);
    return RD_DONE;
}

static void detached(struct rd_work *work) { end((struct toucher *)work); }

static void explain(struct rd_work *work, const struct rd_unmet *u, char *text, size_t bytes)
{
    (void)work;
    (void)u;
    if (bytes)
        text[0] = 0;
}

static void wait_for_all(rd_atomic64 *left)
{
    while (rd_load_acquire(left)) { /* pairs with end */
        uint32_t prepared = rd_park_prepare();
        rd_park_register(&wake);
        rd_fence(); /* partner: rd_sub_acq_rel's in end, before its look at `wake` */
        if (rd_load_acquire(left))
            rd_park_sleep(prepared, 1000000);
    }
}

/* The core that replays run on. The lanes of one that is dataflow are everybody's: a core of lanes
 * says where nodes are at home then. */
static struct rd_core *core_to_touch(struct rd_exec *x)
{
    struct rd_core *c = rd_load_acquire(&x->core);
    if (c->kind != RD_CORE_FLOW)
        return c;
    pthread_mutex_lock(&x->lock);
    c = rd_exec_lanes(x);
    pthread_mutex_unlock(&x->lock);
    return c;
}

static rondo_status touch_all(struct rd_exec *x, struct rd_core *c)
{
    uint32_t lanes = c->track[0].lanes;
    struct toucher *t = rd_zalloc(&x->rt->alloc, lanes * sizeof *t, 16);
    rd_atomic64 left = lanes;
    if (!t)
        return rd_error(RONDO_ERR_MEMORY, "exec '%s': touch: no memory for %u lanes",
                        x->program.exec_name, lanes);
    for (uint32_t i = 0; i < lanes; i++) {
        struct rd_lane *l = &c->track[0].lane[i];
        struct rd_worker *w = rd_exec_worker(x, l->processor);
        t[i].x = x;
        t[i].lane = l;
        t[i].left = &left;
        t[i].work.advance = advance;
        t[i].work.detached = detached;
        t[i].work.explain = explain;
        if (l->processor < x->processors && x->processor[l->processor] < x->rt->adopted) {
            touch_lane(x, l); /* whoever drives it may be this thread */
            end(&t[i]);
        } else {
            rd_worker_push(w, &t[i].work);
        }
    }
    wait_for_all(&left);
    rd_free(&x->rt->alloc, t, lanes * sizeof *t);
    return RONDO_OK;
}

rondo_status rd_exec_touch(struct rd_exec *x)
{
    struct rd_series *s = x->series;
    uint64_t count;
    rondo_status status = rd_exec_freeze(x, &count);
    if (status)
        return status;
    if (rd_source_reached(s->all, rd_source_id(s->all), count))
        status = touch_all(x, core_to_touch(x));
    else
        status = rd_error(RONDO_ERR_AGAIN, "exec '%s': touch: replays are in flight",
                          x->program.exec_name);
    rd_exec_go_on(x);
    return status;
}
