/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exec keeps of its kernels' forms, to tell a new version's from. */
#include "src/exec/kernel_forms.h"

#include <stdio.h>
#include <string.h>

static const struct rd_kernel *kernel_of(const struct rd_subgraph *g, uint32_t node)
{
    const uint32_t i = rd_node_extra(g, node)->kernel;
    return i ? &g->kernels.item[i - 1] : NULL;
}

rondo_status rd_kernel_forms_make(struct rd_kernel_forms *f, const struct rd_subgraph *g)
{
    size_t kernels = 0, args = 0;
    memset(f, 0, sizeof *f);
    f->alloc = &g->rt->alloc;
    f->kernels = g->kernels.count;
    f->args = g->kernel_args.count;
    if (!f->kernels)
        return RONDO_OK;
    f->kernel = rd_alloc_array(f->alloc, f->kernels, sizeof *f->kernel);
    f->arg = rd_alloc_array(f->alloc, f->args, sizeof *f->arg);
    if (!f->kernel || !f->arg) {
        rd_kernel_forms_free(f);
        return rd_error(RONDO_ERR_MEMORY, "subgraph '%s': no memory for an exec", g->name);
    }
    for (uint32_t v = 0; v < g->nodes.count; v++) {
        const struct rd_kernel *k = kernel_of(g, v);
        if (!k)
            continue;
        f->kernel[kernels++] = (struct rd_kernel_form){ v, (uint32_t)args, k->arg_count };
        for (uint32_t i = 0; i < k->arg_count; i++) {
            const struct rd_kernel_arg *a = &g->kernel_args.item[k->arg + i];
            f->arg[args++] = (struct rd_arg_form){ a->kind, a->index };
        }
    }
    return RONDO_OK;
}

void rd_kernel_forms_free(struct rd_kernel_forms *f)
{
    if (!f->alloc)
        return;
    rd_free_array(f->alloc, f->kernel, f->kernels, sizeof *f->kernel);
    rd_free_array(f->alloc, f->arg, f->args, sizeof *f->arg);
    memset(f, 0, sizeof *f);
}

static int tell(struct rd_kernel_difference *d, uint32_t node, uint32_t now, uint32_t was)
{
    d->node = node;
    d->now = now;
    d->was = was;
    return 1;
}

static int args_differ(const struct rd_kernel_forms *was, const struct rd_kernel_form *a,
                       const struct rd_kernel_forms *now, const struct rd_kernel_form *b,
                       struct rd_kernel_difference *d)
{
    if (a->arg_count != b->arg_count) {
        (void)snprintf(d->field, sizeof d->field, "arg_count");
        return tell(d, a->node, b->arg_count, a->arg_count);
    }
    for (uint32_t i = 0; i < a->arg_count; i++) {
        const struct rd_arg_form *x = &was->arg[a->arg + i], *y = &now->arg[b->arg + i];
        (void)snprintf(d->field, sizeof d->field, "args[%u].%s", i,
                       x->kind != y->kind            ? "kind"
                       : x->kind == RONDO_ARG_ACCESS ? "index"
                                                     : "param");
        if (x->kind != y->kind)
            return tell(d, a->node, y->kind, x->kind);
        if (x->index != y->index)
            return tell(d, a->node, y->index, x->index);
    }
    return 0;
}

int rd_kernel_forms_differ(const struct rd_kernel_forms *was, const struct rd_kernel_forms *now,
                           struct rd_kernel_difference *d)
{
    for (size_t i = 0; i < was->kernels || i < now->kernels; i++) {
        const struct rd_kernel_form *a = i < was->kernels ? &was->kernel[i] : NULL,
                                    *b = i < now->kernels ? &now->kernel[i] : NULL;
        if (!a || !b || a->node != b->node) {
            const int added = !a || (b && b->node < a->node);
            (void)snprintf(d->field, sizeof d->field, "its being a kernel");
            return tell(d, added ? b->node : a->node, (uint32_t)added, (uint32_t)!added);
        }
        if (args_differ(was, a, now, b, d))
            return 1;
    }
    return 0;
}
