/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of blocks a pass holds. */
#include "compile/scratch.h"

#include <string.h>

struct rd_scratch_block {
    struct rd_scratch_block *next;
    size_t bytes; /* header included */
};
_Static_assert(sizeof(struct rd_scratch_block) % 16 == 0, "keeps what follows aligned");

/* The smallest spare block that is large enough and not more than half wasted; taken out. */
static struct rd_scratch_block *find_spare(struct rd_scratch *s, size_t bytes)
{
    struct rd_scratch_block **best = NULL, *found;
    for (struct rd_scratch_block **at = &s->spare; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (*at)->bytes / 2 <= bytes &&
            (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    if (!best)
        return NULL;
    found = *best;
    *best = found->next;
    return found;
}

void *rd_scratch_array(struct rd_scratch *s, size_t count, size_t size)
{
    struct rd_scratch_block *block;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof *block, &bytes))
        return NULL;
    block = find_spare(s->whole ? s->whole : s, bytes);
    if (!block) {
        block = rd_alloc(s->a, bytes, 16);
        if (!block)
            return NULL;
        block->bytes = bytes;
    }
    block->next = s->blocks;
    s->blocks = block;
    return block + 1;
}

void *rd_scratch_zeroed(struct rd_scratch *s, size_t count, size_t size)
{
    void *items = rd_scratch_array(s, count, size);
    return items ? memset(items, 0, count * size) : NULL;
}

static void free_blocks(struct rd_allocator *a, struct rd_scratch_block **blocks)
{
    while (*blocks) {
        struct rd_scratch_block *block = *blocks;
        *blocks = block->next;
        rd_free(a, block, block->bytes);
    }
}

void rd_scratch_free(struct rd_scratch *s)
{
    while (s->whole && s->blocks) {
        struct rd_scratch_block *block = s->blocks;
        s->blocks = block->next;
        block->next = s->whole->spare;
        s->whole->spare = block;
    }
    free_blocks(s->a, &s->blocks);
    free_blocks(s->a, &s->spare);
}
