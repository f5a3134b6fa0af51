/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of rondo/counter.h. */
#include "src/event/counter.h"

#include "src/base/error.h"
#include "src/base/id.h"
#include "src/base/rcu.h"

#include <rondo/counter.h>

rondo_status rondo_counter_create(rondo_runtime runtime, uint64_t initial, rondo_counter *counter)
{
    struct rd_counter_object *c;
    struct rd_runtime *rt;
    rondo_status status;
    uint64_t id;
    if (!counter)
        return rd_error(RONDO_ERR_INVALID, "rondo_counter_create: `counter` is NULL");
    rt = rd_runtime_get(runtime, &status);
    if (!rt)
        return status;
    status = rd_counter_new(rt, initial, &c);
    if (status) {
        rd_runtime_unref(rt);
        return status;
    }
    id = rd_id_new(RD_ID_COUNTER, c);
    if (!id) {
        rd_counter_unref(c);
        return rd_error(RONDO_ERR_MEMORY, "rondo_counter_create: no memory for a handle");
    }
    counter->id = id;
    return RONDO_OK;
}

rondo_status rondo_counter_destroy(rondo_counter counter)
{
    struct rd_counter_object *c = rd_id_retire(counter.id, RD_ID_COUNTER);
    if (!c)
        return rd_id_error(counter.id, RD_ID_COUNTER);
    rd_rcu_synchronize(); /* pairs with the read sections of rd_counter_get and of `find` */
    rd_counter_unref(c);
    return RONDO_OK;
}

/* The calls below are made from inside tasks and at the end of replays: they stay inside a read
 * section instead of counting a reference. NULL: not found, the section is left. */
static struct rd_counter_object *find(rondo_counter counter)
{
    struct rd_counter_object *c;
    rd_rcu_read_lock();
    c = rd_id_find(counter.id, RD_ID_COUNTER);
    if (!c)
        rd_rcu_read_unlock();
    return c;
}

rondo_status rondo_counter_add(rondo_counter counter, uint64_t more)
{
    struct rd_counter_object *c = find(counter);
    uint64_t value;
    int fits;
    if (!c)
        return rd_id_error(counter.id, RD_ID_COUNTER);
    fits = rd_counter_add(c, more, &value);
    rd_rcu_read_unlock();
    if (!fits)
        return rd_error(
            RONDO_ERR_INVALID, "counter 0x%llx: its value %llu and %llu more exceed 64 bits",
            (unsigned long long)counter.id, (unsigned long long)value, (unsigned long long)more);
    return RONDO_OK;
}

rondo_status rondo_counter_raise(rondo_counter counter, uint64_t value)
{
    struct rd_counter_object *c = find(counter);
    if (!c)
        return rd_id_error(counter.id, RD_ID_COUNTER);
    rd_counter_raise(c, value);
    rd_rcu_read_unlock();
    return RONDO_OK;
}

rondo_status rondo_counter_value(rondo_counter counter, uint64_t *value)
{
    struct rd_counter_object *c;
    if (!value)
        return rd_error(RONDO_ERR_INVALID, "rondo_counter_value: `value` is NULL");
    c = find(counter);
    if (!c)
        return rd_id_error(counter.id, RD_ID_COUNTER);
    *value = rd_counter_value(c);
    rd_rcu_read_unlock();
    return RONDO_OK;
}

rondo_status rondo_counter_event(rondo_counter counter, uint64_t value, rondo_event *event)
{
    struct rd_counter_object *c;
    if (!event)
        return rd_error(RONDO_ERR_INVALID, "rondo_counter_event: `event` is NULL");
    c = find(counter);
    if (!c)
        return rd_id_error(counter.id, RD_ID_COUNTER);
    event->source = rd_source_id(c->source);
    event->count = value;
    rd_rcu_read_unlock();
    return RONDO_OK;
}
