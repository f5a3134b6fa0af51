/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of blocks a pass holds. */
#include "compile/scratch.h"

#include <string.h>

struct rd_scratch_block {
    struct rd_scratch_block *next;
    size_t bytes; /* header included */
};
_Static_assert(sizeof(struct rd_scratch_block) % 16 == 0, "keeps what follows aligned");

void *rd_scratch_array(struct rd_scratch *s, size_t count, size_t size)
{
    struct rd_scratch_block *block;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, sizeof *block, &bytes))
        return NULL;
    block = rd_alloc(s->a, bytes, 16);
    if (!block)
        return NULL;
    block->next = s->blocks;
    block->bytes = bytes;
    s->blocks = block;
    return block + 1;
}

void *rd_scratch_zeroed(struct rd_scratch *s, size_t count, size_t size)
{
    void *items = rd_scratch_array(s, count, size);
    return items ? memset(items, 0, count * size) : NULL;
}

void rd_scratch_free(struct rd_scratch *s)
{
    while (s->blocks) {
        struct rd_scratch_block *block = s->blocks;
        s->blocks = block->next;
        rd_free(s->a, block, block->bytes);
    }
}
