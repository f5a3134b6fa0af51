/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper's copies, box by box, and the pattern for what is out of date. On its own thread. */
#include "src/base/error.h"
#include "src/machine/keeper_inner.h"

#include <string.h>

enum { POISON = 0xa5 };

static struct rd_box_move move_of(const rondo_shape *s, const rondo_region *box)
{
    struct rd_box_move m = { .row = (size_t)box->count[0] * s->elem_bytes,
                             .rows = (size_t)box->count[1],
                             .planes = (size_t)box->count[2] };
    for (int d = 0; d < 2; d++)
        m.to_pitch[d] = m.from_pitch[d] = s->pitch_bytes[d];
    return m;
}

static size_t offset_of(const rondo_shape *s, const rondo_region *box)
{
    return (size_t)box->first[0] * s->elem_bytes + (size_t)box->first[1] * s->pitch_bytes[0] +
           (size_t)box->first[2] * s->pitch_bytes[1];
}

static rondo_status copy_box(const struct rd_keeper *keeper, const struct rd_carry *c,
                             const rondo_region *box)
{
    const rondo_shape *s = &c->keep->buffer->shape;
    const struct rd_device *d = rd_keeper_device(keeper, c->to ? c->to : c->from);
    const size_t offset = offset_of(s, box);
    const struct rd_device_copy copy = { rd_keep_address(c->keep, c->to) + offset,
                                         rd_keep_address(c->keep, c->from) + offset,
                                         move_of(s, box) };
    return d->ops->copy(d->backend, d->index, &copy);
}

/* ---- what is out of date */

static void poison_host(char *at, const rondo_shape *s, const rondo_region *box)
{
    const struct rd_box_move m = move_of(s, box);
    for (size_t z = 0; z < m.planes; z++)
        for (size_t y = 0; y < m.rows; y++)
            memset(at + z * m.to_pitch[1] + y * m.to_pitch[0], POISON, m.row);
}

/* Best effort: what cannot be overwritten stays as it was. */
static void poison_box(const struct rd_keeper *keeper, const struct rd_carry *c,
                       const rondo_region *box)
{
    struct rd_allocator *a = &keeper->rt->alloc;
    const rondo_shape *s = &c->keep->buffer->shape;
    char *at = rd_keep_address(c->keep, c->to) + offset_of(s, box);
    const struct rd_device *d;
    struct rd_device_copy copy;
    void *pattern;
    size_t bytes;
    if (!c->to) {
        poison_host(at, s, box);
        return;
    }
    d = rd_keeper_device(keeper, c->to);
    copy = (struct rd_device_copy){ at, NULL, move_of(s, box) };
    copy.box.from_pitch[0] = copy.box.row;
    copy.box.from_pitch[1] = copy.box.row * copy.box.rows;
    bytes = copy.box.from_pitch[1] * copy.box.planes;
    pattern = rd_alloc(a, bytes, 64);
    if (!pattern)
        return;
    copy.from = memset(pattern, POISON, bytes);
    (void)d->ops->copy(d->backend, d->index, &copy);
    rd_free(a, pattern, bytes);
}

/* ---- */

static rondo_status failed(const struct rd_carry *c, rondo_status status)
{
    char from[24], to[24];
    return rd_error(status == RONDO_ERR_DEVICE_LOST ? status : RONDO_ERR_FAILED,
                    "buffer '%.48s' could not be copied from %s to %s: %s", c->keep->buffer->name,
                    rd_memory_name(c->from, from), rd_memory_name(c->to, to), rd_error_text());
}

rondo_status rd_job_copy(struct rd_job *job)
{
    for (size_t i = 0; i < job->carries; i++) {
        const struct rd_carry *c = &job->carry[i];
        for (uint32_t k = 0; k < c->boxes.count; k++) {
            rondo_status status;
            if (c->from == c->to) {
                poison_box(job->keeper, c, &c->boxes.item[k]);
                continue;
            }
            status = copy_box(job->keeper, c, &c->boxes.item[k]);
            if (status)
                return failed(c, status);
        }
    }
    return RONDO_OK;
}
