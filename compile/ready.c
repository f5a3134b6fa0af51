/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a set of small integers. */
#include "compile/ready.h"

int rd_ready_init(struct rd_ready *r, struct rd_scratch *s, uint32_t count)
{
    uint32_t bits = count ? count : 1;
    r->levels = 0;
    do {
        uint32_t words = bits / 64 + (bits % 64 != 0);
        uint64_t *word = rd_scratch_zeroed(s, words, sizeof *word);
        if (!word)
            return 0;
        r->word[r->levels] = word;
        r->words[r->levels++] = words;
        bits = words;
    } while (bits > 1);
    return 1;
}
