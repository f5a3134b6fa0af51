/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what a node gives its kernel is what the kernel takes: an address where it has a pointer,
 * a value where it has one, local memory where it asks for that. A driver that is given something
 * else may take a value for one of its own objects. */
#include "src/device/opencl_state.h"

#include <string.h>

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
