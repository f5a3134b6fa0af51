/* SPDX-License-Identifier: BSD-3-Clause */
/* The task behind RD_NODE_COMBINE. */
#include "subgraph/expand.h"

/* A row of one type: sums of integers wrap around, a least or greatest value is the target's where
 * the two do not compare. */
#define ROW(name, T, sum)                                                          \
    static void name(void *target, const void *share, uint64_t count, unsigned op) \
    {                                                                              \
        T *restrict t = target;                                                    \
        const T *restrict s = share;                                               \
        uint64_t i;                                                                \
        if (op == RONDO_SUM)                                                       \
            for (i = 0; i < count; i++)                                            \
                t[i] = (sum);                                                      \
        else if (op == RONDO_MIN)                                                  \
            for (i = 0; i < count; i++)                                            \
                t[i] = s[i] < t[i] ? s[i] : t[i];                                  \
        else                                                                       \
            for (i = 0; i < count; i++)                                            \
                t[i] = s[i] > t[i] ? s[i] : t[i];                                  \
    }
ROW(row_f64, double, t[i] + s[i])
ROW(row_f32, float, t[i] + s[i])
ROW(row_i64, int64_t, (int64_t)((uint64_t)t[i] + (uint64_t)s[i]))
ROW(row_i32, int32_t, (int32_t)((uint32_t)t[i] + (uint32_t)s[i]))

int rd_combine_run(rondo_task *self, const void *arg)
{
    static void (*const row[])(void *, const void *, uint64_t, unsigned) = { NULL, row_f64, row_f32,
                                                                             row_i64, row_i32 };
    const struct rd_combine *c = arg;
    const struct rd_combine_part *part = (const struct rd_combine_part *)(c + 1);
    char *target = rondo_task_write(self, c->target);
    uint32_t p;
    uint64_t y, z;
    for (p = 0; p < c->parts; p++, part++) {
        const char *share = rondo_task_read(self, (unsigned)part->share);
        for (z = 0; z < part->count[1]; z++)
            for (y = 0; y < part->count[0]; y++) {
                uint64_t at = part->at + z * c->pitch[1] + y * c->pitch[0];
                row[c->type](target + at, share + at, part->row, c->op);
            }
    }
    return 0;
}
