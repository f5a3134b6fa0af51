/* SPDX-License-Identifier: BSD-3-Clause */
/* Safety. The value is its source's `done`, raised by any number of threads at once: each raise is
 * one compare-and-swap to a greater value, so it only grows, and its release joins the release
 * sequence of those before it: who acquires a value sees what was written before any raise up to
 * it. A waiter's protocol is that of src/base/park.h: the raise is the change, then the fence, then
 * the look at the wake word. The source is retired when the last reference goes, so nobody raises a
 * record that another use has taken over. */
#include "src/event/counter.h"

#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"

rondo_status rd_counter_new(struct rd_runtime *rt, uint64_t initial,
                            struct rd_counter_object **counter)
{
    struct rd_counter_object *c =
        rd_alloc(&rt->alloc, sizeof *c, _Alignof(struct rd_counter_object));
    if (!c)
        goto no_counter;
    c->source = rd_runtime_source(rt);
    if (!c->source)
        goto free_counter;
    c->rt = rt;
    rd_store_relaxed(&c->refs, 1);                                   /* not shared yet */
    rd_store_relaxed(&c->source->exec, (uint64_t)RD_SOURCE_COUNTER); /* read by who has an event */
    rd_store_release(&c->source->done, initial);
    *counter = c;
    return RONDO_OK;
free_counter:
    rd_free(&rt->alloc, c, sizeof *c);
no_counter:
    return rd_error(RONDO_ERR_MEMORY, "counter: no memory");
}

struct rd_counter_object *rd_counter_get(rondo_counter handle, rondo_status *status)
{
    struct rd_counter_object *c;
    rd_rcu_read_lock();
    c = rd_id_find(handle.id, RD_ID_COUNTER);
    if (c)
        rd_counter_ref(c); /* the handle's own reference goes after a grace period */
    rd_rcu_read_unlock();
    *status = c ? RONDO_OK : rd_id_error(handle.id, RD_ID_COUNTER);
    return c;
}

/* Relaxed: who adds a reference has one, or is in a read section that keeps the handle's. */
void rd_counter_ref(struct rd_counter_object *c) { rd_add_relaxed(&c->refs, 1); }

void rd_counter_unref(struct rd_counter_object *c)
{
    struct rd_runtime *rt = c->rt;
    /* acq_rel: every holder's raise is before the retirement. */
    if (rd_sub_acq_rel(&c->refs, 1) != 1)
        return;
    rd_runtime_source_end(rt, c->source);
    rd_free(&rt->alloc, c, sizeof *c);
    rd_runtime_unref(rt);
}

void rd_counter_raise(struct rd_counter_object *c, uint64_t value)
{
    rd_source_raise(c->source, value);
}

int rd_counter_add(struct rd_counter_object *c, uint64_t more, uint64_t *value)
{
    rd_atomic64 *done = &c->source->done;
    uint64_t now = rd_load_relaxed(done), sum;
    do {
        *value = now;
        if (__builtin_add_overflow(now, more, &sum))
            return 0;
    } while (!rd_cas_acq_rel(done, &now, sum));
    *value = sum;
    if (more)
        rd_source_wake(c->source);
    return 1;
}
