/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/event/source.h"

#include "src/base/alloc.h"

#include <pthread.h>

enum { CHUNK_BITS = 8, CHUNK = 1 << CHUNK_BITS, CHUNKS = 1 << 16 };

static rd_atomic(struct rd_source *) chunks[CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used, free_list; /* under the lock; free_list is index + 1 */

static struct rd_source *source_at(uint32_t index)
{
    /* Acquire: pairs with take's release, a chunk's zeroes before its address. */
    struct rd_source *chunk = rd_load_acquire(&chunks[index >> CHUNK_BITS]);
    return chunk ? &chunk[index & (CHUNK - 1)] : NULL;
}

static struct rd_source *take_record(void)
{
    struct rd_source *s;
    if (free_list) {
        s = source_at(free_list - 1);
        free_list = s->next_free;
        return s;
    }
    if (used == (uint32_t)CHUNKS * CHUNK)
        return NULL;
    if (!(used & (CHUNK - 1))) {
        s = rd_zalloc(rd_allocator_system(), CHUNK * sizeof *s, RD_LINE);
        if (!s)
            return NULL;
        for (uint32_t i = 0; i < CHUNK; i++) {
            s[i].index = used + i;
            rd_store_relaxed(&s[i].generation, 1); /* published with the chunk */
            rd_store_relaxed(&s[i].at, (uint64_t)RD_AT_NONE);
        }
        rd_store_release(&chunks[used >> CHUNK_BITS], s);
    }
    return source_at(used++);
}

struct rd_source *rd_source_new(void)
{
    struct rd_source *s;
    pthread_mutex_lock(&lock);
    s = take_record();
    pthread_mutex_unlock(&lock);
    return s;
}

void rd_source_retire(struct rd_source *s)
{
    uint64_t next = (rd_load_relaxed(&s->generation) + 1) & 0xffffffff;
    rd_store_relaxed(&s->exec, 0);
    rd_store_release(&s->generation, next ? next : 1);
    /* Release: an observer that acquires this 0, or a later count, sees the new generation. */
    rd_store_release(&s->done, 0);
    rd_store_relaxed(&s->waited, 0);
    rd_store_relaxed(&s->awake, 0);
    rd_store_relaxed(&s->at, (uint64_t)RD_AT_NONE); /* all waiters are woken below */
    rd_fence(); /* partner: a waiter's between registering and its look */
    if (rd_load_relaxed(&s->wake))
        rd_park_wake(&s->wake);
    pthread_mutex_lock(&lock);
    s->next_free = free_list;
    free_list = s->index + 1;
    pthread_mutex_unlock(&lock);
}

struct rd_source *rd_source_find(uint64_t source)
{
    uint32_t low = (uint32_t)source;
    struct rd_source *s;
    if (!low || low > (uint32_t)CHUNKS * CHUNK)
        return NULL;
    s = source_at(low - 1);
    /* A generation not given out yet: no event of ours. */
    return s && source >> 32 && source >> 32 <= rd_load_acquire(&s->generation) ? s : NULL;
}

void rd_source_wake(struct rd_source *s)
{
    rd_fence(); /* partner: a waiter's between registering and its look at `done` */
    if (rd_load_relaxed(&s->wake))
        rd_park_wake(&s->wake);
}

void rd_source_raise(struct rd_source *s, uint64_t value)
{
    uint64_t now = rd_load_relaxed(&s->done);
    while (now < value)
        if (rd_cas_acq_rel(&s->done, &now, value)) {
            rd_source_wake(s);
            return;
        }
}
