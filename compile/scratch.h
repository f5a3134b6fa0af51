/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one compilation and of its passes: obtained piece by piece, given back at once. */
#ifndef RD_COMPILE_SCRATCH_H
#define RD_COMPILE_SCRATCH_H

#include "src/base/alloc.h"

struct rd_scratch_block;
struct rd_scratch {
    struct rd_allocator *a;
    struct rd_scratch_block *blocks; /* newest first */
    /* Whose parts are given back to it, for the next part to take: fresh pages cost more than a
     * pass over them. NULL: to the allocator. */
    struct rd_scratch *whole;
    struct rd_scratch_block *spare; /* of a whole: what its parts gave back */
};

static inline struct rd_scratch rd_scratch_part(struct rd_scratch *whole)
{
    return (struct rd_scratch){ whole->a, 0, whole, 0 };
}

/* count objects of one type, 16-byte aligned; NULL when there is no memory. */
void *rd_scratch_array(struct rd_scratch *s, size_t count, size_t size);
void *rd_scratch_zeroed(struct rd_scratch *s, size_t count, size_t size);
void rd_scratch_free(struct rd_scratch *s);

#endif
