/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait and signal nodes. A wait keeps nothing of its own: each time it is called it looks anew. */
#include "src/frame/node_kinds.h"

#include <string.h>

/* first + step * n; what does not fit 64 bits is the greatest that does. */
static uint64_t value_of(const struct rd_self *self, const struct rd_node_work *w)
{
    uint64_t value;
    if (__builtin_mul_overflow(w->step, self->frame->index, &value) ||
        __builtin_add_overflow(w->first, value, &value))
        return UINT64_MAX;
    return value;
}

static int wait_for_event(struct rd_self *self, const struct rd_node_work *w)
{
    struct rd_source *s;
    rondo_event event;
    memcpy(&event, self->view.params + w->event_at, sizeof event);
    if (!event.source)
        return 0;
    s = rd_source_find(event.source);
    if (!s)
        return rd_node_fail(self, "waits for {0x%llx, %llu}, which is no event of this process",
                            (unsigned long long)event.source, (unsigned long long)event.count);
    if (rd_source_reached(s, event.source, event.count))
        return 0;
    self->unmet = (struct rd_unmet){ &s->done, event.count, &s->wake, &s->at, 0 };
    return RD_PENDING;
}

int rd_node_wait(struct rd_self *self, const struct rd_node_work *w)
{
    struct rd_source *s;
    uint64_t need;
    if (!w->counter)
        return wait_for_event(self, w);
    s = w->counter->source;
    need = value_of(self, w);
    if (rd_load_acquire(&s->done) >= need) /* pairs with who raised it */
        return 0;
    self->unmet = (struct rd_unmet){ &s->done, need, &s->wake, &s->at, 0 };
    return RD_PENDING;
}

int rd_node_signal(struct rd_self *self, const struct rd_node_work *w)
{
    rd_counter_raise(w->counter, value_of(self, w));
    return 0;
}
