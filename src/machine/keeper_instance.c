/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances: a buffer's bytes in memories other than the one it was made in, from their making to
 * their end. */
#include "src/base/error.h"
#include "src/machine/keeper_inner.h"

#include <stdio.h>
#include <string.h>

enum { ZEROES = 1 << 16 };

const char *rd_memory_name(uint32_t memory, char text[24])
{
    if (memory)
        snprintf(text, 24, "RONDO_GPU(%u)", memory - 1);
    else
        snprintf(text, 24, "the host");
    return text;
}

/* ---- keeps */

/* Whether one of its buffers is this one, or has bytes of it. */
static int reaches(const struct rd_taker *h, const struct rd_buffer *b)
{
    for (uint32_t i = 0; i < h->stays; i++) {
        const struct rd_buffer *has = h->stay[i].buffer;
        if (has == b ||
            (has->address < b->address + b->bytes && b->address < has->address + has->bytes))
            return 1;
    }
    return 0;
}

/* Execs whose replays may be under way already. */
static int add_users(struct rd_keep *k)
{
    struct rd_allocator *a = &k->buffer->rt->alloc;
    for (struct rd_taker *h = k->buffer->rt->keeper->takers; h; h = h->next) {
        if (!reaches(h, k->buffer))
            continue;
        if (!rd_grow(a, (void **)&k->user, &k->user_room, k->users, 1, sizeof *k->user))
            return -1;
        k->user[k->users++] = h;
    }
    return 0;
}

static void free_keep(struct rd_allocator *a, struct rd_keep *k)
{
    for (uint32_t m = 0; m < RD_MEMORIES_MAX; m++)
        rd_boxes_free(a, &k->current[m]);
    rd_free_array(a, k->user, k->user_room, sizeof *k->user);
    rd_free(a, k, sizeof *k);
}

struct rd_keep *rd_keep_of(struct rd_buffer *b)
{
    struct rd_keeper *keeper = b->rt->keeper;
    struct rd_keep *k = rd_load_relaxed(&b->keep); /* set under the lock */
    rondo_region whole = rd_keep_whole(b);
    if (k)
        return k;
    k = rd_zalloc(&b->rt->alloc, sizeof *k, 16);
    if (!k)
        return NULL;
    k->buffer = b;
    if ((rd_buffer_base(b) && rd_boxes_add(&b->rt->alloc, &k->current[0], &whole)) ||
        add_users(k)) {
        free_keep(&b->rt->alloc, k);
        return NULL;
    }
    k->next = keeper->keeps;
    if (k->next)
        k->next->link = &k->next;
    k->link = &keeper->keeps;
    keeper->keeps = k;
    rd_store_release(&b->keep, k); /* pairs with rd_keeper_has: what it reads of it is constant */
    return k;
}

static rondo_status no_memory(const struct rd_buffer *b)
{
    return rd_error(RONDO_ERR_MEMORY, "buffer '%s': no memory for an instance", b->name);
}

/* ---- making */

static struct rd_buffer *make_shadow(struct rd_buffer *b, char *base)
{
    struct rd_buffer *s = rd_zalloc(&b->rt->alloc, sizeof *s, _Alignof(struct rd_buffer));
    if (!s)
        return NULL;
    s->rt = b->rt;
    s->name = b->name;
    s->shape = b->shape;
    s->bytes = b->bytes;
    s->address = (uintptr_t)base;
    s->shadow_of = b;
    rd_store_relaxed(&s->base, base); /* published under the lock */
    return s;
}

static rondo_status make_on_device(struct rd_keep *k, uint32_t memory)
{
    struct rd_buffer *b = k->buffer;
    struct rd_device *d = rd_keeper_device(b->rt->keeper, memory);
    void *base;
    rondo_status status = rd_device_allocate(d, b->bytes, &base);
    if (status)
        return rd_error(status, "buffer '%.80s': %s", b->name, rd_error_text());
    k->instance[memory].shadow = make_shadow(b, base);
    if (!k->instance[memory].shadow) {
        rd_device_release(d, base, b->bytes);
        return no_memory(b);
    }
    rd_add_relaxed(&b->rt->instances, 1); /* a statistic */
    return RONDO_OK;
}

static rondo_status make_on_host(struct rd_buffer *b)
{
    char *base;
    if (rd_buffer_base(b))
        return RONDO_OK;
    b->owned_bytes = b->bytes;
    base = rd_zalloc(&b->rt->alloc, b->bytes, 64);
    if (!base)
        return rd_error(RONDO_ERR_MEMORY, "buffer '%s': no memory for %zu bytes on the host",
                        b->name, b->bytes);
    b->owned = 1;
    rd_store_release(&b->base, base); /* pairs with rd_buffer_base */
    return RONDO_OK;
}

rondo_status rd_keep_instance(struct rd_keep *k, uint32_t memory)
{
    if (!memory)
        return make_on_host(k->buffer);
    return k->instance[memory].shadow ? RONDO_OK : make_on_device(k, memory);
}

rondo_status rd_keeper_instance(struct rd_buffer *b, uint32_t memory, struct rd_buffer **shadow)
{
    struct rd_keeper *keeper = b->rt->keeper;
    struct rd_keep *k;
    rondo_status status;
    if (!memory && rd_buffer_base(b)) {
        *shadow = b;
        return RONDO_OK;
    }
    if (!keeper || memory >= keeper->memories)
        return rd_error(RONDO_ERR_INVALID,
                        "buffer '%s': RONDO_GPU_MEMORY(%u), and the runtime has %u devices",
                        b->name, memory - 1, keeper ? keeper->memories - 1 : 0);
    pthread_mutex_lock(&keeper->lock);
    k = rd_keep_of(b);
    status = k ? rd_keep_instance(k, memory) : no_memory(b);
    if (!status)
        *shadow = memory ? k->instance[memory].shadow : b;
    pthread_mutex_unlock(&keeper->lock);
    return status;
}

/* Whether there is an instance, or one of the caller's. */
static int has(const struct rd_buffer *b, uint32_t memory, int external)
{
    struct rd_keeper *keeper = b->rt->keeper;
    const struct rd_keep *k;
    int yes;
    if (!keeper || memory >= keeper->memories)
        return 0;
    pthread_mutex_lock(&keeper->lock);
    k = rd_load_relaxed(&((struct rd_buffer *)(uintptr_t)b)->keep); /* under the lock */
    yes = k && k->instance[memory].shadow && (!external || k->instance[memory].external);
    pthread_mutex_unlock(&keeper->lock);
    return yes;
}

int rd_keeper_has(const struct rd_buffer *b, uint32_t memory)
{
    return memory ? has(b, memory, 0) : rd_buffer_base(b) != NULL;
}

int rd_keeper_is_external(const struct rd_buffer *b, uint32_t memory)
{
    return memory ? has(b, memory, 1) : rd_buffer_base(b) && !b->owned;
}

/* ---- buffers that begin on a device */

static rondo_status zero(const struct rd_device *d, char *base, size_t bytes)
{
    static const char zeroes[ZEROES];
    rondo_status status = RONDO_OK;
    for (size_t at = 0; at < bytes && !status; at += ZEROES) {
        size_t n = bytes - at < ZEROES ? bytes - at : ZEROES;
        const struct rd_device_copy copy = { base + at, zeroes, { n, 1, 1, { n, n }, { n, n } } };
        status = d->ops->copy(d->backend, d->index, &copy);
    }
    return status;
}

rondo_status rd_keeper_begin(struct rd_buffer *b, uint32_t memory, void *wraps)
{
    struct rd_keeper *keeper = b->rt->keeper;
    rondo_region whole = rd_keep_whole(b);
    rondo_status status = RONDO_OK;
    struct rd_keep *k;
    pthread_mutex_lock(&keeper->lock);
    k = rd_keep_of(b);
    if (!k || rd_boxes_add(&b->rt->alloc, &k->current[memory], &whole)) {
        status = no_memory(b);
    } else if (!wraps) {
        status = make_on_device(k, memory);
    } else {
        k->instance[memory].shadow = make_shadow(b, wraps);
        k->instance[memory].external = 1;
        if (!k->instance[memory].shadow)
            status = no_memory(b);
        else
            rd_add_relaxed(&b->rt->instances, 1); /* a statistic */
    }
    pthread_mutex_unlock(&keeper->lock);
    if (!status) /* nobody else has the buffer yet */
        b->address = 1ull << RD_DEVICE_RANGE_BIT | k->instance[memory].shadow->address;
    if (!status && !wraps)
        status = zero(rd_keeper_device(keeper, memory), rd_keep_address(k, memory), b->bytes);
    if (status)
        rd_keeper_forget(b);
    return status;
}

/* ---- the end */

static void free_instance(struct rd_keep *k, uint32_t memory)
{
    struct rd_buffer *shadow = k->instance[memory].shadow, *b = k->buffer;
    if (!shadow)
        return;
    if (!k->instance[memory].external)
        rd_device_release(rd_keeper_device(b->rt->keeper, memory), rd_buffer_base(shadow),
                          b->bytes);
    rd_free(&b->rt->alloc, shadow, sizeof *shadow);
    rd_sub_relaxed(&b->rt->instances, 1); /* a statistic */
}

void rd_keeper_forget(struct rd_buffer *b)
{
    struct rd_keeper *keeper = b->rt->keeper;
    struct rd_allocator *a = &b->rt->alloc;
    struct rd_keep *k = rd_load_relaxed(&b->keep); /* nobody else has the buffer */
    if (!k)
        return;
    pthread_mutex_lock(&keeper->lock);
    *k->link = k->next;
    if (k->next)
        k->next->link = k->link;
    pthread_mutex_unlock(&keeper->lock);
    for (uint32_t m = 1; m < RD_MEMORIES_MAX; m++)
        free_instance(k, m);
    if (k->last)
        rd_fetch_unref(&k->last->fetch);
    free_keep(a, k);
    rd_store_relaxed(&b->keep, NULL);
}
