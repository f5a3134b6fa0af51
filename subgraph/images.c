/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of kernels: the bytes of each kept once, found by a table of chains. The last image of a
 * chain is its head, so images are taken back in the reverse order of their coming. */
#include "subgraph/record.h"

#include <string.h>

enum { TABLE_LEAST = 16, BYTES_MOST = 1 << 26 };

/* Who makes images that collide would have to know where the recording lies. */
static uint64_t hash(const struct rd_subgraph *g, const unsigned char *bytes, size_t count)
{
    uint64_t h = (uint64_t)(uintptr_t)g * 0xd1342543de82ef95u ^ count, word;
    for (; count >= sizeof word; count -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; count; count--, bytes++) {
        h = (h ^ *bytes) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static uint32_t *head_of(const struct rd_subgraph *g, uint64_t h)
{
    return &g->image_table.item[h & (g->image_table.count - 1)];
}

/* Puts the image on the chain of its hash; those before it are there. */
static void chain(struct rd_subgraph *g, uint32_t i)
{
    struct rd_image *image = &g->images.item[i];
    uint32_t *head = head_of(g, image->hash);
    image->next = *head;
    *head = i + 1;
}

/* Room for one more: chains are one image long on average. */
static int grow_table(struct rd_subgraph *g)
{
    size_t size = g->image_table.count ? 2 * g->image_table.count : (size_t)TABLE_LEAST, i;
    if (g->images.count < g->image_table.count)
        return 1;
    if (!RD_ROOM(g, image_table, size - g->image_table.count))
        return 0;
    g->image_table.count = size;
    memset(g->image_table.item, 0, size * sizeof *g->image_table.item);
    for (i = 0; i < g->images.count; i++)
        chain(g, (uint32_t)i);
    return 1;
}

/* All that there are so far are texts. */
static rondo_status check(const char *who, const void *bytes, size_t count)
{
    const char *zero;
    if (!bytes || !count)
        return rd_error(RONDO_ERR_INVALID, "%s is %s, its size %zu", who, bytes ? "given" : "NULL",
                        count);
    if (count > BYTES_MOST)
        return rd_error(RONDO_ERR_INVALID, "%s has %zu bytes, more than %d", who, count,
                        BYTES_MOST);
    zero = memchr(bytes, 0, count);
    if (zero)
        return rd_error(RONDO_ERR_INVALID,
                        "%s is text of %zu bytes, and byte %zu is 0 (its size does not count a "
                        "terminator)",
                        who, count, (size_t)(zero - (const char *)bytes));
    return RONDO_OK;
}

static rondo_status add(struct rd_subgraph *g, const void *bytes, size_t count, uint32_t *image)
{
    const size_t at = g->sources.count;
    const uint64_t h = hash(g, bytes, count);
    struct rd_image *new;
    uint32_t i;
    for (i = g->image_table.count ? *head_of(g, h) : 0; i; i = g->images.item[i - 1].next) {
        const struct rd_image *old = &g->images.item[i - 1];
        if (old->hash == h && old->bytes == count &&
            !memcmp(g->sources.item + old->source, bytes, count)) {
            *image = i - 1;
            return RONDO_OK;
        }
    }
    if (g->images.count >= UINT32_MAX - 1 || !RD_ROOM(g, images, 1) || !grow_table(g) ||
        !RD_ROOM(g, sources, count + 1))
        return rd_no_memory(g);
    memcpy(g->sources.item + at, bytes, count);
    g->sources.item[at + count] = 0;
    g->sources.count = at + count + 1;
    *image = (uint32_t)g->images.count;
    new = &g->images.item[g->images.count++];
    memset(new, 0, sizeof *new);
    new->source = at;
    new->bytes = count;
    new->hash = h;
    chain(g, *image);
    return RONDO_OK;
}

rondo_status rd_image_add(struct rd_subgraph *g, const char *who, const void *bytes, size_t count,
                          uint32_t *image)
{
    rondo_status status = check(who, bytes, count);
    return status ? status : add(g, bytes, count, image);
}

void rd_images_cut(struct rd_subgraph *g, size_t count, size_t sources)
{
    while (g->images.count > count) {
        const struct rd_image *last = &g->images.item[--g->images.count];
        *head_of(g, last->hash) = last->next;
    }
    g->sources.count = sources;
}
