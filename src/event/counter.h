/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that users raise: an event source whose `done` is the value, so that whatever waits for
 * events waits for counters too. Counted: the handle holds one reference, every wait and signal
 * node that names the counter another. */
#ifndef RD_EVENT_COUNTER_H
#define RD_EVENT_COUNTER_H

#include "src/event/source.h"
#include "src/machine/runtime.h"

struct rd_counter_object {
    struct rd_runtime *rt;
    rd_atomic64 refs;
    struct rd_source *source; /* retired with the object, not with the handle */
};

/* An object of one reference, its handle's, which the caller makes. Takes over the caller's
 * reference of the runtime, on success only. */
rondo_status rd_counter_new(struct rd_runtime *rt, uint64_t initial,
                            struct rd_counter_object **counter);
/* A counted reference to the counter of a handle; NULL with the message set and *status told.
 * Allocates nothing. */
struct rd_counter_object *rd_counter_get(rondo_counter handle, rondo_status *status);
void rd_counter_ref(struct rd_counter_object *c);
void rd_counter_unref(struct rd_counter_object *c);

/* Any thread, never block; wake who waits. */
void rd_counter_raise(struct rd_counter_object *c, uint64_t value);
/* 0: the sum does not fit 64 bits, and *value is what it was. */
int rd_counter_add(struct rd_counter_object *c, uint64_t more, uint64_t *value);
static inline uint64_t rd_counter_value(struct rd_counter_object *c)
{
    /* Acquire: what was written before a raise is seen by who reads its value. */
    return rd_load_acquire(&c->source->done);
}

#endif
