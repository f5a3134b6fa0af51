/* SPDX-License-Identifier: BSD-3-Clause */
/* What of an exec's kernels another version of it may not change: which nodes are kernels, and what
 * their arguments are. Images, entries, work items and values may. */
#ifndef RD_EXEC_KERNEL_FORMS_H
#define RD_EXEC_KERNEL_FORMS_H

#include "subgraph/subgraph.h"

struct rd_kernel_form {
    uint32_t node, arg, arg_count; /* in `arg` */
};
struct rd_arg_form {
    uint32_t kind, index;
};
struct rd_kernel_forms {
    struct rd_allocator *alloc;
    struct rd_kernel_form *kernel; /* by node, ascending */
    struct rd_arg_form *arg;
    size_t kernels, args;
};

/* Of the recorded nodes. MEMORY. */
rondo_status rd_kernel_forms_make(struct rd_kernel_forms *f, const struct rd_subgraph *g);
void rd_kernel_forms_free(struct rd_kernel_forms *f); /* all zero: nothing */

struct rd_kernel_difference {
    uint32_t node;
    char field[32];
    uint32_t now, was;
};
/* 1: the first difference is told. */
int rd_kernel_forms_differ(const struct rd_kernel_forms *was, const struct rd_kernel_forms *now,
                           struct rd_kernel_difference *d);

#endif
