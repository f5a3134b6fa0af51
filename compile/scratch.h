/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one pass: obtained piece by piece, given back at once. */
#ifndef RD_COMPILE_SCRATCH_H
#define RD_COMPILE_SCRATCH_H

#include "src/base/alloc.h"

struct rd_scratch_block;
struct rd_scratch {
    struct rd_allocator *a;
    struct rd_scratch_block *blocks; /* newest first */
};

/* count objects of one type, 16-byte aligned; NULL when there is no memory. */
void *rd_scratch_array(struct rd_scratch *s, size_t count, size_t size);
void *rd_scratch_zeroed(struct rd_scratch *s, size_t count, size_t size);
void rd_scratch_free(struct rd_scratch *s);

#endif
