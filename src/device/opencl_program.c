/* SPDX-License-Identifier: BSD-3-Clause */
/* Images and kernels: each image is compiled once for a device and options, each node has a kernel
 * object of its own. */
#include "src/device/opencl_state.h"

#include <stdio.h>
#include <string.h>

/* Compilers of drivers are no more parallel than this, and some not safe. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* ---- what the compiler says */

/* The first line that tells of an error, without the spaces around it. */
static void first_error(const char *log, char *line, size_t bytes)
{
    const char *at = strstr(log, "error:"), *end;
    if (!at)
        at = log + strspn(log, " \t\r\n");
    while (at > log && at[-1] != '\n')
        at--;
    at += strspn(at, " \t");
    end = at + strcspn(at, "\r\n");
    snprintf(line, bytes, "%.*s", (int)(end - at), at);
}

static rondo_status build_failed(struct rd_opencl_device *d, cl_program program, cl_int why)
{
    struct rd_backend *b = d->backend;
    char line[256] = "", *log;
    size_t bytes = 0;
    cl_int error;
    if (why != CL_BUILD_PROGRAM_FAILURE)
        return rd_opencl_failed(d, "clBuildProgram", why);
    RD_CL(b, error, clGetProgramBuildInfo, program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    log = error ? NULL : rd_zalloc(b->alloc, bytes + 1, 1);
    if (log) {
        RD_CL(b, error, clGetProgramBuildInfo, program, d->id, CL_PROGRAM_BUILD_LOG, bytes, log,
              NULL);
        if (!error)
            first_error(log, line, sizeof line);
        rd_free(b->alloc, log, bytes + 1);
    }
    return rd_error(RONDO_ERR_INVALID, "opencl device %u (%s): the image does not compile: %s",
                    d->index, d->hardware.name, *line ? line : "the compiler says nothing");
}

/* ---- programs */

static void free_program(struct rd_backend *b, struct rd_opencl_program *p)
{
    if (p->program)
        RD_CL_RELEASE(b, clReleaseProgram, p->program);
    rd_free(b->alloc, p->options, p->options_bytes);
    rd_free(b->alloc, p->image, p->image_bytes);
    rd_free(b->alloc, p, sizeof *p);
}

static struct rd_opencl_program *find(struct rd_backend *b, uint32_t device,
                                      const struct rd_kernel_source *s)
{
    const char *options = s->options ? s->options : "";
    for (struct rd_opencl_program *p = b->programs; p; p = p->next)
        if (p->device == device && p->image_bytes == s->image_bytes &&
            !strcmp(p->options, options) && !memcmp(p->image, s->image, s->image_bytes))
            return p;
    return NULL;
}

static rondo_status compile(struct rd_opencl_device *d, struct rd_opencl_program *p)
{
    struct rd_backend *b = d->backend;
    static const char more[] = " -cl-kernel-arg-info"; /* for opencl_args.c */
    const size_t bytes = p->options_bytes + sizeof more;
    const char *text = p->image;
    char *options;
    cl_int error;
    RD_CL_NEW(b, error, p->program, clCreateProgramWithSource, d->context, 1, &text,
              &p->image_bytes);
    if (error)
        return rd_opencl_failed(d, "clCreateProgramWithSource", error);
    options = rd_alloc(b->alloc, bytes, 1);
    if (!options)
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for the options '%s'", p->options);
    (void)snprintf(options, bytes, "%s%s", p->options, more);
    RD_CL(b, error, clBuildProgram, p->program, 1, &d->id, options, NULL, NULL);
    rd_free(b->alloc, options, bytes);
    return error ? build_failed(d, p->program, error) : RONDO_OK;
}

static rondo_status make_program(struct rd_opencl_device *d, const struct rd_kernel_source *s,
                                 struct rd_opencl_program **program)
{
    struct rd_backend *b = d->backend;
    struct rd_opencl_program *p =
        rd_zalloc(b->alloc, sizeof *p, _Alignof(struct rd_opencl_program));
    const char *options = s->options ? s->options : "";
    rondo_status status;
    if (!p)
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a program");
    p->refs = 1;
    p->device = d->index;
    p->image_bytes = s->image_bytes;
    p->options_bytes = strlen(options) + 1;
    p->image = rd_alloc(b->alloc, p->image_bytes, 1);
    p->options = rd_alloc(b->alloc, p->options_bytes, 1);
    if (!p->image || !p->options) {
        free_program(b, p);
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for an image of %zu bytes",
                        s->image_bytes);
    }
    memcpy(p->image, s->image, p->image_bytes);
    memcpy(p->options, options, p->options_bytes);
    status = compile(d, p);
    if (status)
        free_program(b, p);
    else
        *program = p;
    return status;
}

rondo_status rd_opencl_program_get(struct rd_opencl_device *d, const struct rd_kernel_source *s,
                                   struct rd_opencl_program **program)
{
    struct rd_backend *b = d->backend;
    rondo_status status = RONDO_OK;
    struct rd_opencl_program *p;
    pthread_mutex_lock(&compiling);
    p = find(b, d->index, s);
    if (p) {
        p->refs++;
    } else {
        status = make_program(d, s, &p);
        if (!status) {
            p->next = b->programs;
            b->programs = p;
        }
    }
    pthread_mutex_unlock(&compiling);
    if (!status)
        *program = p;
    return status;
}

void rd_opencl_program_put(struct rd_backend *b, struct rd_opencl_program *p)
{
    struct rd_opencl_program **link = &b->programs;
    pthread_mutex_lock(&compiling);
    if (!--p->refs) {
        while (*link != p)
            link = &(*link)->next;
        *link = p->next;
        free_program(b, p);
    }
    pthread_mutex_unlock(&compiling);
}

/* ---- kernels */

static rondo_status check_kernel(const struct rd_device_kernel *k,
                                 const struct rd_kernel_source *source)
{
    struct rd_opencl_device *d = k->device;
    cl_uint count = 0;
    cl_int error;
    RD_CL(d->backend, error, clGetKernelInfo, k->kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count,
          NULL);
    if (error)
        return rd_opencl_failed(d, "clGetKernelInfo", error);
    if (count != source->arg_count)
        return rd_error(RONDO_ERR_INVALID, "kernel '%s' has %u arguments, the node gives %u",
                        k->entry, count, source->arg_count);
    return RONDO_OK;
}

static rondo_status make_kernel(struct rd_device_kernel *k, const struct rd_kernel_source *source)
{
    struct rd_opencl_device *d = k->device;
    cl_int error;
    rondo_status status = rd_opencl_program_get(d, source, &k->program);
    if (status)
        return status;
    RD_CL_NEW(d->backend, error, k->kernel, clCreateKernel, k->program->program, k->entry);
    if (error == CL_INVALID_KERNEL_NAME)
        return rd_error(RONDO_ERR_INVALID, "clCreateKernel: the image has no kernel '%s'",
                        k->entry);
    return error ? rd_opencl_failed(d, "clCreateKernel", error) : check_kernel(k, source);
}

rondo_status rd_opencl_kernel_new(struct rd_backend *b, uint32_t device,
                                  const struct rd_kernel_source *source,
                                  struct rd_device_kernel **kernel)
{
    struct rd_device_kernel *k;
    rondo_status status;
    if (source->format != RONDO_OPENCL_C)
        return rd_error(RONDO_ERR_INVALID, "opencl: format %u of the image is not OpenCL C (%d)",
                        source->format, RONDO_OPENCL_C);
    k = rd_zalloc(b->alloc, sizeof *k, _Alignof(struct rd_device_kernel));
    if (k)
        k->entry = rd_strdup(b->alloc, source->entry);
    if (!k || !k->entry) {
        rd_free(b->alloc, k, sizeof *k);
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a kernel");
    }
    k->device = &b->device[device];
    status = make_kernel(k, source);
    if (status)
        rd_opencl_kernel_free(k);
    else
        *kernel = k;
    return status;
}

void rd_opencl_kernel_free(struct rd_device_kernel *k)
{
    struct rd_backend *b = k->device->backend;
    if (k->kernel)
        RD_CL_RELEASE(b, clReleaseKernel, k->kernel);
    if (k->program)
        rd_opencl_program_put(b, k->program);
    rd_free(b->alloc, k->entry, strlen(k->entry) + 1);
    rd_free(b->alloc, k, sizeof *k);
}
