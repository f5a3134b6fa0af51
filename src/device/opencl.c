/* SPDX-License-Identifier: BSD-3-Clause */
/* The OpenCL backend: its devices, opened and closed, and its table. */
#include "src/base/env.h"
#include "src/device/opencl_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request that is wrong, a lack of memory, or the driver itself. */
static rondo_status status_of(cl_int error)
{
    switch (error) {
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return RONDO_ERR_MEMORY;
    case CL_INVALID_CONTEXT:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_DEVICE:
    case CL_INVALID_EVENT: return RONDO_ERR_DEVICE_LOST;
    default:
        return error <= CL_INVALID_VALUE && error > -100 ? RONDO_ERR_INVALID
                                                         : RONDO_ERR_DEVICE_LOST;
    }
}

rondo_status rd_opencl_failed(const struct rd_opencl_device *d, const char *call, cl_int error)
{
    return rd_error(status_of(error), "opencl device %u (%s): %s: %s (%d)", d->index,
                    d->hardware.name, call, rd_opencl_error_name(error), error);
}

int rd_opencl_drain(struct rd_opencl_device *d, cl_command_queue queue)
{
    cl_int error = 0;
    for (int i = 0; i < 2; i++)
        if (!RD_CL(d->backend, error, clFinish, queue))
            return 1;
    return 0;
}

rondo_status rd_opencl_finish(struct rd_opencl_device *d, cl_command_queue queue)
{
    cl_int error;
    if (!RD_CL(d->backend, error, clFinish, queue))
        return RONDO_OK;
    rd_opencl_drain(d, queue);
    return rd_opencl_failed(d, "clFinish", error);
}

/* ---- what the drivers have */

struct found {
    uint32_t count;
    cl_device_id id[RD_OPENCL_DEVICES_MAX];
    cl_platform_id platform[RD_OPENCL_DEVICES_MAX];
};

static rondo_status open_failed(const char *call, cl_int error)
{
    return rd_error(status_of(error), "opencl: %s: %s (%d)", call, rd_opencl_error_name(error),
                    error);
}

static rondo_status find_devices(struct rd_backend *b, struct found *f)
{
    static const char none[] =
        "install a driver of the hardware, or one for CPUs, the Debian package pocl-opencl-icd";
    cl_platform_id platform[RD_OPENCL_PLATFORMS_MAX];
    cl_uint platforms = 0, more;
    cl_int error;
    RD_CL(b, error, clGetPlatformIDs, RD_OPENCL_PLATFORMS_MAX, platform, &platforms);
    if (error && error != CL_PLATFORM_NOT_FOUND_KHR)
        return open_failed("clGetPlatformIDs", error);
    if (error || !platforms)
        return rd_error(RONDO_ERR_INVALID, "opencl: there is no platform: %s", none);
    if (platforms > RD_OPENCL_PLATFORMS_MAX)
        platforms = RD_OPENCL_PLATFORMS_MAX;
    for (cl_uint i = 0; i < platforms; i++) {
        more = 0;
        RD_CL(b, error, clGetDeviceIDs, platform[i], CL_DEVICE_TYPE_ALL,
              RD_OPENCL_DEVICES_MAX - f->count, f->id + f->count, &more);
        if (error && error != CL_DEVICE_NOT_FOUND)
            return open_failed("clGetDeviceIDs", error);
        if (error)
            continue;
        for (; more && f->count < RD_OPENCL_DEVICES_MAX; more--)
            f->platform[f->count++] = platform[i];
        if (f->count == RD_OPENCL_DEVICES_MAX)
            break;
    }
    if (!f->count)
        return rd_error(RONDO_ERR_INVALID, "opencl: no platform has a device: %s", none);
    return RONDO_OK;
}

/* A property that an older driver does not know is none. */
static int answered(struct rd_backend *b, const char *call, cl_int error)
{
    if (error && error != CL_INVALID_VALUE && !b->asked) {
        b->asked = error;
        b->asked_by = call;
    }
    return !error;
}

/* A property of fixed size; what the driver does not know is 0. */
static void ask(struct rd_backend *b, cl_device_id id, cl_device_info what, void *value,
                size_t bytes)
{
    cl_int error;
    memset(value, 0, bytes);
    RD_CL(b, error, clGetDeviceInfo, id, what, bytes, value, NULL);
    if (!answered(b, "clGetDeviceInfo", error))
        memset(value, 0, bytes);
}

static void ask_text(struct rd_backend *b, cl_device_id id, cl_device_info what, char *text,
                     size_t bytes)
{
    char whole[4096];
    cl_int error;
    RD_CL(b, error, clGetDeviceInfo, id, what, sizeof whole, whole, NULL);
    snprintf(text, bytes, "%.*s", (int)bytes - 1,
             answered(b, "clGetDeviceInfo", error) ? whole : "");
}

/* NULL: it can be used; else why it cannot. */
static const char *unusable(struct rd_backend *b, cl_device_id id)
{
    cl_device_svm_capabilities svm;
    cl_bool available, compiler;
    char name[96];
    ask(b, id, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm);
    ask(b, id, CL_DEVICE_AVAILABLE, &available, sizeof available);
    ask(b, id, CL_DEVICE_COMPILER_AVAILABLE, &compiler, sizeof compiler);
    ask_text(b, id, CL_DEVICE_NAME, name, sizeof name);
    if (!available)
        return "the driver says that it is not available";
    if (!compiler)
        return "its driver has no compiler";
    if (!(svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
        return "it has no shared virtual memory (OpenCL 2.0)";
    /* PoCL's device without threads: nothing would ever be told of a submission's end. */
    if (!strncmp(name, "basic", 5))
        return "PoCL's 'basic' device does not tell when work has ended: use 'pthread'";
    return NULL;
}

/* ---- opening them */

static void describe(struct rd_opencl_device *d, uint32_t part, uint32_t parts)
{
    struct rd_backend *b = d->backend;
    struct rd_hardware *h = &d->hardware;
    cl_uint units;
    cl_ulong bytes;
    size_t used;
    ask_text(b, d->id, CL_DEVICE_NAME, h->name, sizeof h->name);
    ask(b, d->id, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    ask(b, d->id, CL_DEVICE_GLOBAL_MEM_SIZE, &bytes, sizeof bytes);
    h->units = units;
    h->memory_bytes = bytes / parts;
    used = strlen(h->name);
    if (parts > 1) {
        if (used > sizeof h->name - 20)
            used = sizeof h->name - 20;
        snprintf(h->name + used, sizeof h->name - used, ", part %u of %u", part + 1, parts);
    }
}

static void *extension(struct rd_opencl_device *d, const char *name)
{
    struct rd_backend *b = d->backend;
    cl_int error = rd_opencl_fails(&b->calls, "clGetExtensionFunctionAddressForPlatform");
    void *found = error ? NULL : b->cl->clGetExtensionFunctionAddressForPlatform(d->platform, name);
    rd_opencl_made("clGetExtensionFunctionAddressForPlatform", error);
    if (!answered(b, "clGetExtensionFunctionAddressForPlatform", error))
        found = NULL;
    return found;
}

/* All or none. */
static void find_buffer_calls(struct rd_opencl_device *d)
{
    struct rd_opencl_buffer_calls *c = &d->buffer;
    int all = 1;
    void *found;
#define FIND(field, name)                                                           \
    found = extension(d, name);                                                     \
    memcpy(&c->field, &found, sizeof found); /* ISO C converts no object pointer */ \
    all = all && found;
    FIND(create, "clCreateCommandBufferKHR")
    FIND(ndrange, "clCommandNDRangeKernelKHR")
    FIND(finalize, "clFinalizeCommandBufferKHR")
    FIND(enqueue, "clEnqueueCommandBufferKHR")
    FIND(release, "clReleaseCommandBufferKHR")
#undef FIND
    if (!all)
        memset(c, 0, sizeof *c);
}

static void learn(struct rd_opencl_device *d)
{
    cl_device_svm_capabilities svm;
    cl_device_exec_capabilities exec;
    cl_device_command_buffer_capabilities_khr buffers;
    cl_device_type type;
    cl_command_queue_properties queues;
    struct rd_backend *b = d->backend;
    const struct rd_opencl_watch *w = rd_load_acquire(&rd_opencl_watching);
    uint32_t without = w ? w->without : 0;
    ask(b, d->id, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm);
    ask(b, d->id, CL_DEVICE_EXECUTION_CAPABILITIES, &exec, sizeof exec);
    ask(b, d->id, CL_DEVICE_TYPE, &type, sizeof type);
    ask(b, d->id, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, &queues, sizeof queues);
    ask(b, d->id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, &buffers, sizeof buffers);
    d->fine = (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) && !(without & RD_OPENCL_NO_FINE);
    d->system = (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0;
    d->native = d->fine && (type & CL_DEVICE_TYPE_CPU) && (exec & CL_EXEC_NATIVE_KERNEL) &&
                !(without & RD_OPENCL_NO_NATIVE);
    if (buffers & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR &&
        (b->way == RD_OPENCL_RECORDED || b->way == RD_OPENCL_TRIAL))
        find_buffer_calls(d);
    d->wide = (queues & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}

static rondo_status add_device(struct rd_backend *b, cl_device_id id, cl_platform_id platform,
                               uint32_t part, uint32_t parts)
{
    struct rd_opencl_device *d = &b->device[b->devices];
    if (pthread_mutex_init(&d->lock, NULL))
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a device's lock");
    d->backend = b;
    d->index = b->devices++;
    d->id = id;
    d->part = parts > 1;
    d->platform = platform;
    describe(d, part, parts);
    learn(d);
    return RONDO_OK;
}

static rondo_status split(struct rd_backend *b, const struct found *f, uint32_t number,
                          uint32_t parts)
{
    cl_device_partition_property how[RD_OPENCL_DEVICES_MAX + 3];
    cl_device_id id[RD_OPENCL_DEVICES_MAX];
    cl_uint units, made = 0;
    cl_int error;
    rondo_status status = RONDO_OK;
    ask(b, f->id[number], CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    if (units < parts)
        return rd_error(RONDO_ERR_INVALID,
                        "opencl: device %u has %u compute units and cannot be split into %u",
                        number, units, parts);
    how[0] = CL_DEVICE_PARTITION_BY_COUNTS;
    for (uint32_t i = 0; i < parts; i++)
        how[1 + i] = (cl_device_partition_property)(units / parts + (i < units % parts));
    how[1 + parts] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
    how[2 + parts] = 0;
    RD_CL(b, error, clCreateSubDevices, f->id[number], how, parts, id, &made);
    if (error || made != parts)
        return rd_error(RONDO_ERR_INVALID,
                        "opencl: device %u cannot be split into %u: clCreateSubDevices: %s (%d)",
                        number, parts, rd_opencl_error_name(error), error);
    for (uint32_t i = 0; i < parts; i++) {
        if (!status)
            status = add_device(b, id[i], f->platform[number], i, parts);
        if (status)
            RD_CL_RELEASE(b, clReleaseDevice, id[i]);
    }
    return status;
}

/* ---- the list */

static rondo_status choose_all(struct rd_backend *b, const struct found *f)
{
    const char *why = NULL;
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; i < f->count && !status; i++) {
        const char *cannot = unusable(b, f->id[i]);
        if (cannot)
            why = cannot;
        else
            status = add_device(b, f->id[i], f->platform[i], 0, 1);
    }
    if (!status && !b->devices)
        return rd_error(RONDO_ERR_INVALID, "opencl: none of %u devices can be used: %s", f->count,
                        why);
    return status;
}

static rondo_status choose_one(struct rd_backend *b, const struct found *f, const char *entry,
                               char **end, uint64_t *named)
{
    unsigned long number = strtoul(entry, end, 10), parts = 1;
    const char *why;
    if (**end == '/')
        parts = strtoul(*end + 1, end, 10);
    if (number >= f->count)
        return rd_error(RONDO_ERR_INVALID, "opencl: there is no device %lu: %u found", number,
                        f->count);
    if (*named >> number & 1)
        return rd_error(RONDO_ERR_INVALID, "opencl: device %lu is named twice", number);
    *named |= 1ull << number;
    why = unusable(b, f->id[number]);
    if (why)
        return rd_error(RONDO_ERR_INVALID, "opencl: device %lu cannot be used: %s", number, why);
    if (parts < 1 || parts > RD_OPENCL_DEVICES_MAX || b->devices + parts > RD_OPENCL_DEVICES_MAX)
        return rd_error(RONDO_ERR_INVALID, "opencl: device %lu in %lu parts: at most %d devices",
                        number, parts, RD_OPENCL_DEVICES_MAX);
    if (parts > 1)
        return split(b, f, (uint32_t)number, (uint32_t)parts);
    return add_device(b, f->id[number], f->platform[number], 0, 1);
}

static rondo_status choose(struct rd_backend *b, const struct found *f, const char *which)
{
    uint64_t named = 0;
    rondo_status status = RONDO_OK;
    char *end = (char *)which;
    if (!*which)
        return choose_all(b, f);
    for (; !status; which = end + 1) {
        status = choose_one(b, f, which, &end, &named);
        if (status || !*end)
            break;
        if (*end != ',')
            status = rd_error(RONDO_ERR_INVALID, "opencl: no list of devices: '%s'", which);
    }
    return status;
}

/* ---- contexts and queues */

/* One context for all devices of a platform. */
static rondo_status make_context(struct rd_backend *b, uint32_t first)
{
    cl_device_id id[RD_OPENCL_DEVICES_MAX];
    cl_platform_id platform = b->device[first].platform;
    const cl_context_properties how[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
    cl_context context;
    cl_uint count = 0;
    cl_int error;
    for (uint32_t i = first; i < b->devices; i++)
        if (b->device[i].platform == platform)
            id[count++] = b->device[i].id;
    RD_CL_NEW(b, error, context, clCreateContext, how, count, id, NULL, NULL);
    if (error)
        return rd_opencl_failed(&b->device[first], "clCreateContext", error);
    b->context[b->contexts++] = context;
    for (uint32_t i = first; i < b->devices; i++)
        if (b->device[i].platform == platform)
            b->device[i].context = context;
    return RONDO_OK;
}

static rondo_status make_contexts(struct rd_backend *b)
{
    rondo_status status = RONDO_OK;
    for (uint32_t i = 0; i < b->devices && !status; i++) {
        struct rd_opencl_device *d = &b->device[i];
        if (!d->context)
            status = make_context(b, i);
        if (!status)
            status = rd_opencl_make_queue(d, NULL, &d->queue);
        if (!status && !d->native)
            status = rd_opencl_movers_new(d, &d->movers);
    }
    return status;
}

static void close_backend(struct rd_backend *b)
{
    for (uint32_t i = 0; i < b->devices; i++) {
        struct rd_opencl_device *d = &b->device[i];
        rd_opencl_movers_free(d, &d->movers);
        if (d->queue)
            RD_CL_RELEASE(b, clReleaseCommandQueue, d->queue);
        pthread_mutex_destroy(&d->lock);
    }
    while (b->contexts)
        RD_CL_RELEASE(b, clReleaseContext, b->context[--b->contexts]);
    for (uint32_t i = 0; i < b->devices; i++)
        if (b->device[i].part)
            RD_CL_RELEASE(b, clReleaseDevice, b->device[i].id);
    pthread_mutex_destroy(&b->lock);
    rd_free(b->alloc, b, sizeof *b);
}

static enum rd_opencl_way way_wanted(void)
{
    static const char *const ways[RD_OPENCL_WAYS] = { "in-order", "command-buffer",
                                                      "out-of-order" };
    const char *text = rd_env_text(RD_ENV_RONDO_OPENCL_SUBMIT);
    unsigned way = 0;
    while (text && way < RD_OPENCL_WAYS && strcmp(text, ways[way]) != 0)
        way++;
    return text ? (enum rd_opencl_way)way : RD_OPENCL_TRIAL;
}

static rondo_status open_backend(struct rd_allocator *a, const char *which,
                                 struct rd_backend **backend)
{
    const struct rd_opencl_calls *cl = rd_opencl_load();
    struct found found;
    struct rd_backend *b;
    rondo_status status;
    if (!cl)
        return RONDO_ERR_INVALID;
    b = rd_zalloc(a, sizeof *b, _Alignof(struct rd_backend));
    if (!b)
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory");
    if (pthread_mutex_init(&b->lock, NULL)) {
        rd_free(a, b, sizeof *b);
        return rd_error(RONDO_ERR_MEMORY, "opencl: no memory for a lock");
    }
    b->alloc = a;
    b->cl = cl;
    b->way = way_wanted();
    found.count = 0;
    status = find_devices(b, &found);
    if (!status)
        status = choose(b, &found, which);
    if (b->asked) /* and what came of it says less */
        status = open_failed(b->asked_by, b->asked);
    if (!status)
        status = make_contexts(b);
    if (status) {
        close_backend(b);
        return status;
    }
    *backend = b;
    return RONDO_OK;
}

/* ---- the table */

static uint32_t devices(const struct rd_backend *b) { return b->devices; }

static void hardware(const struct rd_backend *b, uint32_t device, struct rd_hardware *h)
{
    *h = b->device[device].hardware;
}

static int peers(const struct rd_backend *b, uint32_t device, uint32_t other)
{
    return b->device[device].context == b->device[other].context;
}

static uint64_t calls(const struct rd_backend *b) { return rd_load_relaxed(&b->calls); }

extern const struct rd_backend_ops rd_opencl_ops;
const struct rd_backend_ops rd_opencl_ops = {
    .name = "opencl",
    .what = "devices with an OpenCL driver",
    .open = open_backend,
    .close = close_backend,
    .devices = devices,
    .hardware = hardware,
    .peers = peers,
    .allocate = rd_opencl_allocate,
    .release = rd_opencl_release,
    .allocate_pinned = rd_opencl_allocate_pinned,
    .release_pinned = rd_opencl_release_pinned,
    .copy = rd_opencl_copy,
    .kernel_new = rd_opencl_kernel_new,
    .kernel_free = rd_opencl_kernel_free,
    .queue_new = rd_opencl_queue_new,
    .queue_free = rd_opencl_queue_free,
    .segment_new = rd_opencl_segment_new,
    .segment_free = rd_opencl_segment_free,
    .segment_submit = rd_opencl_segment_submit,
    .segment_step = rd_opencl_segment_step,
    .segment_times = rd_opencl_segment_times,
    .segment_describe = rd_opencl_segment_describe,
    .calls = calls,
};
