/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/event/completion.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <pthread.h>
#include <stdio.h>

enum { CHUNK_BITS = 6, CHUNK = 1 << CHUNK_BITS, CHUNKS = 1 << 16 };

static rd_atomic(struct rd_completion *) chunks[CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used, free_list; /* under the lock; free_list is index + 1 */

static struct rd_completion *record_at(uint32_t index)
{
    /* Acquire: pairs with take's release, a chunk's zeroes before its address. */
    struct rd_completion *chunk = rd_load_acquire(&chunks[index >> CHUNK_BITS]);
    return chunk ? &chunk[index & (CHUNK - 1)] : NULL;
}

static struct rd_completion *take(void)
{
    struct rd_completion *c;
    if (free_list) {
        c = record_at(free_list - 1);
        free_list = c->next_free;
        return c;
    }
    if (used == (uint32_t)CHUNKS * CHUNK)
        return NULL;
    if (!(used & (CHUNK - 1))) {
        c = rd_zalloc(rd_allocator_system(), CHUNK * sizeof *c, RD_LINE);
        if (!c)
            return NULL;
        for (uint32_t i = 0; i < CHUNK; i++) {
            c[i].index = used + i;
            rd_store_relaxed(&c[i].word, 1ull << 32); /* published with the chunk */
        }
        rd_store_release(&chunks[used >> CHUNK_BITS], c);
    }
    return record_at(used++);
}

struct rd_completion *rd_completion_new(void)
{
    struct rd_completion *c;
    pthread_mutex_lock(&lock);
    c = take();
    pthread_mutex_unlock(&lock);
    if (c) /* the handle is published by whoever hands it out; nobody else knows this generation */
        rd_store_relaxed(&c->word, rd_load_relaxed(&c->word) | RD_COMPLETION_ARMED);
    return c;
}

static uint64_t stage_of(const struct rd_completion *c, uint32_t stage)
{
    return (rd_load_relaxed(&c->word) & ~0xffffffffull) | stage; /* the owner's generation */
}

rondo_completion rd_completion_handle(const struct rd_completion *c)
{
    return (rondo_completion){ stage_of(c, c->index + 1) };
}

rondo_status rd_completion_finish(rondo_completion handle, rondo_status status, const char *why)
{
    uint32_t low = (uint32_t)handle.id;
    uint64_t generation = handle.id & ~0xffffffffull, armed = generation | RD_COMPLETION_ARMED;
    struct rd_completion *c = low && low <= (uint32_t)CHUNKS * CHUNK ? record_at(low - 1) : NULL;
    if (!c || !generation)
        return rd_error(RONDO_ERR_INVALID, "completion 0x%llx is none",
                        (unsigned long long)handle.id);
    if (status != RONDO_OK && status != RONDO_ERR_FAILED)
        return rd_error(RONDO_ERR_INVALID,
                        "completion 0x%llx: status %d is neither RONDO_OK nor RONDO_ERR_FAILED",
                        (unsigned long long)handle.id, (int)status);
    /* Acquire: what the owner of this generation did before; nothing is read of it. */
    if (!rd_cas_acquire(&c->word, &armed, generation | RD_COMPLETION_FINISHING))
        return rd_error(RONDO_ERR_STALE, "completion 0x%llx was finished before, or is void",
                        (unsigned long long)handle.id);
    c->status = status;
    snprintf(c->message, sizeof c->message, "%s", why ? why : "");
    /* Release: the outcome, and all that this thread did for the node. */
    rd_store_release(&c->word, generation | RD_COMPLETION_FINISHED);
    rd_fence(); /* orders the word with the look; partner: the parkers' fence */
    if (rd_load_relaxed(&c->wake))
        rd_park_wake(&c->wake);
    return RONDO_OK;
}

int rd_completion_is_over(struct rd_completion *c, struct rd_unmet *unmet)
{
    uint64_t need = stage_of(c, RD_COMPLETION_FINISHED);
    if (rd_load_acquire(&c->word) >= need) /* pairs with finish */
        return 1;
    *unmet = (struct rd_unmet){ &c->word, need, &c->wake, NULL, 0 };
    return 0;
}

void rd_completion_free(struct rd_completion *c)
{
    uint64_t armed = stage_of(c, RD_COMPLETION_ARMED);
    uint64_t next = (armed & ~0xffffffffull) + (1ull << 32);
    if (!next) /* generation 0 is nobody's */
        next = 1ull << 32;
    if (!rd_cas_acq_rel(&c->word, &armed, next)) {
        /* Finished, or a thread is between its CAS and its store. */
        while ((uint32_t)rd_load_acquire(&c->word) != RD_COMPLETION_FINISHED)
            rd_pause();
        rd_store_relaxed(&c->word, next); /* published by the lock */
    }
    pthread_mutex_lock(&lock);
    c->next_free = free_list;
    free_list = c->index + 1;
    pthread_mutex_unlock(&lock);
}
