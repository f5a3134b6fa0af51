/* SPDX-License-Identifier: BSD-3-Clause */
/* What a segment's kernels are given: whether it is what they take, what of it changes from call to
 * call, and which nodes are given the same and share a kernel object. */
#include "src/base/heap.h"
#include "src/device/opencl_state.h"

#include <string.h>

/* ---- whether it fits
 *
 * An address where the kernel has a pointer, a value where it has one, local memory where it asks
 * for that. A driver that is given something else may take a value for one of its own objects. */

static const char *given(uint32_t kind)
{
    static const char *const kinds[] = {
        [RONDO_ARG_ACCESS] = "the address of a slot",
        [RONDO_ARG_VALUE] = "a value",
        [RONDO_ARG_PARAM] = "a parameter by value",
        [RONDO_ARG_PARAM_ADDRESS] = "the address of a parameter",
        [RONDO_ARG_LOCAL] = "local memory",
    };
    return kinds[kind];
}

static int fits(cl_kernel_arg_address_qualifier where, uint32_t kind)
{
    switch (where) {
    case CL_KERNEL_ARG_ADDRESS_LOCAL: return kind == RONDO_ARG_LOCAL;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE: return kind == RONDO_ARG_VALUE || kind == RONDO_ARG_PARAM;
    default: return kind == RONDO_ARG_ACCESS || kind == RONDO_ARG_PARAM_ADDRESS;
    }
}

rondo_status rd_opencl_check_args(struct rd_opencl_device *d, const struct rd_command *c)
{
    for (uint32_t k = 0; k < c->arg_count; k++) {
        const uint32_t kind = c->arg[k].kind;
        cl_kernel_arg_address_qualifier where = 0;
        char name[64] = "";
        cl_int error;
        RD_CL(d->backend, error, clGetKernelArgInfo, c->kernel->kernel, k,
              CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where, NULL);
        if (error == CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
            return RONDO_OK;
        if (error)
            return rd_opencl_failed(d, "clGetKernelArgInfo", error);
        if (fits(where, kind))
            continue;
        RD_CL(d->backend, error, clGetKernelArgInfo, c->kernel->kernel, k, CL_KERNEL_ARG_NAME,
              sizeof name, name, NULL);
        if (error)
            strcpy(name, "?");
        return rd_error(RONDO_ERR_INVALID, "node '%s': argument %u, '%s', is %s, the node gives %s",
                        c->name, k, name,
                        where == CL_KERNEL_ARG_ADDRESS_LOCAL     ? "local memory"
                        : where == CL_KERNEL_ARG_ADDRESS_PRIVATE ? "a value"
                                                                 : "a pointer",
                        given(kind));
    }
    return RONDO_OK;
}

/* ---- who shares a kernel object */

/* A kernel node of the segment. */
struct given_node {
    const struct rd_command *command;
    uint32_t index;
};

static int order(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int order_of_args(const struct rd_command_arg *a, const struct rd_command_arg *b)
{
    int by = order(a->kind, b->kind);
    by = by ? by : order(a->bytes, b->bytes);
    if (by)
        return by;
    switch (a->kind) {
    case RONDO_ARG_ACCESS:
        by = order(a->place.slot, b->place.slot);
        return by ? by : order((uint64_t)a->place.offset, (uint64_t)b->place.offset);
    case RONDO_ARG_PARAM:
    case RONDO_ARG_PARAM_ADDRESS: return order(a->param_at, b->param_at);
    case RONDO_ARG_VALUE: return memcmp(a->value, b->value, a->bytes);
    default: return 0;
    }
}

/* < 0, 0, > 0: by program, entry and arguments. */
static int order_of(const struct rd_command *a, const struct rd_command *b)
{
    int by = order((uintptr_t)a->kernel->program, (uintptr_t)b->kernel->program);
    by = by ? by : strcmp(a->kernel->entry, b->kernel->entry);
    /* One kernel, so they have as many arguments: rd_opencl_kernel_new. */
    for (uint32_t k = 0; k < a->arg_count && !by; k++)
        by = order_of_args(&a->arg[k], &b->arg[k]);
    return by;
}

static int is_before(const void *a, const void *b)
{
    const struct given_node *x = a, *y = b;
    int by = order_of(x->command, y->command);
    return by ? by < 0 : x->index < y->index;
}

static rondo_status share_kernels(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    struct given_node *list = rd_zalloc_array(a, s->count, sizeof *list);
    uint32_t n = 0;
    if (!list)
        return rd_opencl_no_memory(s);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->command[i].kind == RD_COMMAND_KERNEL)
            list[n++] = (struct given_node){ &s->command[i], i };
    rd_heap_sort(list, n, sizeof *list, is_before);
    for (uint32_t i = 0; i < n; i++) {
        int same = i && !order_of(list[i - 1].command, list[i].command);
        s->node[list[i].index].as = same ? s->node[list[i - 1].index].as : list[i].index;
    }
    rd_free_array(a, list, s->count, sizeof *list);
    return RONDO_OK;
}

/* ---- what changes from call to call */

int rd_opencl_arg_changes(const struct rd_command_arg *a)
{
    return a->kind == RONDO_ARG_ACCESS || a->kind == RONDO_ARG_PARAM ||
           a->kind == RONDO_ARG_PARAM_ADDRESS;
}

/* How many arguments of the command's kernel object are listed for it. */
static uint32_t args_of(const struct rd_segment *s, uint32_t command)
{
    const struct rd_command *c = &s->command[command];
    return c->kind == RD_COMMAND_KERNEL && s->node[command].as == command ? c->arg_count : 0;
}

static void count_args(struct rd_segment *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < args_of(s, i); k++) {
            const struct rd_command_arg *a = &s->command[i].arg[k];
            s->args += rd_opencl_arg_changes(a) != 0;
            if (a->kind == RONDO_ARG_PARAM)
                s->arg_bytes += a->bytes;
        }
}

static void list_args(struct rd_segment *s)
{
    char *value = s->arg_values;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct rd_opencl_node *node = &s->node[i];
        node->arg_first = n;
        for (uint32_t k = 0; k < args_of(s, i); k++) {
            const struct rd_command_arg *a = &s->command[i].arg[k];
            if (!rd_opencl_arg_changes(a))
                continue;
            s->arg[n++] = (struct rd_opencl_arg){ .index = k, .arg = a, .value = value };
            if (a->kind == RONDO_ARG_PARAM)
                value += a->bytes;
        }
        node->arg_end = n;
        if (s->command[i].kind == RD_COMMAND_KERNEL && node->as != i) {
            node->arg_first = s->node[node->as].arg_first;
            node->arg_end = s->node[node->as].arg_end;
        }
    }
}

rondo_status rd_opencl_args_new(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    rondo_status status;
    s->node = rd_zalloc_array(a, s->count, sizeof *s->node);
    status = s->node ? share_kernels(s) : rd_opencl_no_memory(s);
    if (status)
        return status;
    count_args(s);
    s->arg = rd_zalloc_array(a, s->args, sizeof *s->arg);
    s->arg_values = rd_zalloc(a, s->arg_bytes, 1);
    if (!s->arg || !s->arg_values)
        return rd_opencl_no_memory(s);
    list_args(s);
    return RONDO_OK;
}

void rd_opencl_args_free(struct rd_segment *s)
{
    struct rd_allocator *a = s->queue->device->backend->alloc;
    rd_free(a, s->arg_values, s->arg_bytes);
    rd_free_array(a, s->arg, s->args, sizeof *s->arg);
    rd_free_array(a, s->node, s->count, sizeof *s->node);
}
