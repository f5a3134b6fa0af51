/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills of boxes. What is dense goes to the driver's own calls. Any other box is moved
 * by one function of the host, enqueued, where the device is the host; else by a kernel, where the
 * device may use both sides' memory; else row by row. */
#include "src/device/opencl_state.h"

#include <string.h>

enum { FEW_ROWS = 4, PATTERN_MAX = 128 };
static const size_t widths[RD_OPENCL_WIDTHS] = { 1, 4, 8, 16 };

static const char source[] =
    "#define MOVE(T, W) \\\n"
    "kernel void copy_##W(global T *to, global const T *from, ulong t0, ulong t1, ulong f0, \\\n"
    "                     ulong f1) \\\n"
    "{ \\\n"
    "    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \\\n"
    "    to[z * t1 + y * t0 + x] = from[z * f1 + y * f0 + x]; \\\n"
    "} \\\n"
    "kernel void fill_##W(global T *to, global const T *value, ulong t0, ulong t1, ulong units) "
    "\\\n"
    "{ \\\n"
    "    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \\\n"
    "    to[z * t1 + y * t0 + x] = value[x % units]; \\\n"
    "}\n"
    "MOVE(uchar, 1)\n"
    "MOVE(uint, 4)\n"
    "MOVE(ulong, 8)\n"
    "MOVE(ulong2, 16)\n";

static const char *const copy_names[] = { "copy_1", "copy_4", "copy_8", "copy_16" };
static const char *const fill_names[] = { "fill_1", "fill_4", "fill_8", "fill_16" };

/* ---- kernels */

void rd_opencl_movers_free(struct rd_opencl_device *d, struct rd_opencl_movers *m)
{
    for (int i = 0; i < RD_OPENCL_WIDTHS; i++) {
        if (m->copy[i])
            RD_CL_RELEASE(d->backend, clReleaseKernel, m->copy[i]);
        if (m->fill[i])
            RD_CL_RELEASE(d->backend, clReleaseKernel, m->fill[i]);
    }
    if (m->program)
        rd_opencl_program_put(d->backend, m->program);
    memset(m, 0, sizeof *m);
}

static rondo_status make_movers(struct rd_opencl_device *d, struct rd_opencl_movers *m)
{
    const struct rd_kernel_source s = { RONDO_OPENCL_C, source, sizeof source - 1, NULL, NULL, 0 };
    rondo_status status = rd_opencl_program_get(d, &s, &m->program);
    cl_int error = 0;
    if (status)
        return status;
    for (int i = 0; i < RD_OPENCL_WIDTHS && !error; i++) {
        RD_CL_NEW(d->backend, error, m->copy[i], clCreateKernel, m->program->program,
                  copy_names[i]);
        if (!error)
            RD_CL_NEW(d->backend, error, m->fill[i], clCreateKernel, m->program->program,
                      fill_names[i]);
    }
    return error ? rd_opencl_failed(d, "clCreateKernel", error) : RONDO_OK;
}

rondo_status rd_opencl_movers_new(struct rd_opencl_device *d, struct rd_opencl_movers *m)
{
    rondo_status status;
    memset(m, 0, sizeof *m);
    status = make_movers(d, m);
    if (status)
        rd_opencl_movers_free(d, m);
    return status;
}

/* ---- the shape of a move */

/* Rows that touch on both sides are one longer row, planes that touch are one plane. */
static void fold(struct rd_box_move *x)
{
    if (x->rows == 1) {
        x->rows = x->planes;
        x->to_pitch[0] = x->to_pitch[1];
        x->from_pitch[0] = x->from_pitch[1];
        x->planes = 1;
    }
    if (x->row == x->to_pitch[0] && x->row == x->from_pitch[0]) {
        x->row *= x->rows;
        x->rows = x->planes;
        x->to_pitch[0] = x->to_pitch[1];
        x->from_pitch[0] = x->from_pitch[1];
        x->planes = 1;
    }
    if (x->planes > 1 && x->to_pitch[1] == x->rows * x->to_pitch[0] &&
        x->from_pitch[1] == x->rows * x->from_pitch[0]) {
        x->rows *= x->planes;
        x->planes = 1;
    }
    if (x->planes == 1 && x->row == x->to_pitch[0] && x->row == x->from_pitch[0]) {
        x->row *= x->rows;
        x->rows = 1;
    }
}

static struct rd_opencl_move folded(const struct rd_opencl_move *move)
{
    struct rd_opencl_move m = *move;
    if (!m.from) {
        m.box.from_pitch[0] = m.box.to_pitch[0];
        m.box.from_pitch[1] = m.box.to_pitch[1];
    }
    fold(&m.box);
    return m;
}

static size_t span(const struct rd_box_move *x, const size_t pitch[2])
{
    return (x->planes - 1) * pitch[1] + (x->rows - 1) * pitch[0] + x->row;
}

static int fills_by_call(const struct rd_opencl_move *m)
{
    size_t e = m->elem_bytes;
    return e <= PATTERN_MAX && !(e & (e - 1)) && !((uintptr_t)m->to & (e - 1));
}

/* ---- by a function of the host */

static void CL_CALLBACK move_here(void *argument)
{
    struct rd_opencl_move *m = argument;
    const struct rd_box_move *x = &m->box;
    for (size_t z = 0; z < x->planes; z++)
        for (size_t y = 0; y < x->rows; y++) {
            char *to = m->to + z * x->to_pitch[1] + y * x->to_pitch[0];
            if (m->from)
                memmove(to, m->from + z * x->from_pitch[1] + y * x->from_pitch[0], x->row);
            else if (y || z)
                memcpy(to, m->to, x->row);
            else
                for (size_t i = 0; i < x->row; i += m->elem_bytes)
                    memcpy(to + i, m->value, m->elem_bytes);
        }
}

static rondo_status enqueue_native(struct rd_opencl_device *d, struct rd_opencl_move *m,
                                   struct rd_opencl_at at)
{
    cl_int error;
    RD_CL(d->backend, error, clEnqueueNativeKernel, at.queue, move_here, m, sizeof *m, 0, NULL,
          NULL, at.waits, at.wait, at.last);
    return error ? rd_opencl_failed(d, "clEnqueueNativeKernel", error) : RONDO_OK;
}

/* ---- by a kernel */

/* The widest unit that divides all that it has to. */
static int width_of(const struct rd_opencl_move *m)
{
    const struct rd_box_move *x = &m->box;
    size_t all = (size_t)(uintptr_t)m->to | x->row;
    int w = RD_OPENCL_WIDTHS - 1;
    all |= m->from ? (size_t)(uintptr_t)m->from : m->elem_bytes;
    if (x->rows > 1)
        all |= x->to_pitch[0] | x->from_pitch[0];
    if (x->planes > 1)
        all |= x->to_pitch[1] | x->from_pitch[1];
    while (all & (widths[w] - 1))
        w--;
    return w;
}

static cl_int set_sizes(struct rd_backend *b, cl_kernel k, const cl_ulong *size, cl_uint count)
{
    cl_int error = 0;
    for (cl_uint i = 0; i < count && !error; i++)
        RD_CL(b, error, clSetKernelArg, k, 2 + i, sizeof *size, &size[i]);
    return error;
}

/* Sets all arguments; `global` is what to run. */
static rondo_status set_move(struct rd_opencl_device *d, cl_kernel k,
                             const struct rd_opencl_move *m, size_t *global)
{
    struct rd_backend *b = d->backend;
    const struct rd_box_move *x = &m->box;
    const size_t u = widths[width_of(m)];
    const cl_ulong size[] = { x->to_pitch[0] / u, x->to_pitch[1] / u,
                              m->from ? x->from_pitch[0] / u : m->elem_bytes / u,
                              x->from_pitch[1] / u };
    cl_int error;
    global[0] = x->row / u;
    global[1] = x->rows;
    global[2] = x->planes;
    RD_CL(b, error, clSetKernelArgSVMPointer, k, 0, m->to);
    if (!error)
        RD_CL(b, error, clSetKernelArgSVMPointer, k, 1, m->from ? m->from : m->value_there);
    if (error)
        return rd_opencl_failed(d, "clSetKernelArgSVMPointer", error);
    error = set_sizes(b, k, size, m->from ? 4 : 3);
    return error ? rd_opencl_failed(d, "clSetKernelArg", error) : RONDO_OK;
}

static rondo_status enqueue_kernel(struct rd_opencl_device *d,
                                   const struct rd_opencl_movers *movers,
                                   const struct rd_opencl_move *m, struct rd_opencl_at at)
{
    int w = width_of(m);
    cl_kernel k = m->from ? movers->copy[w] : movers->fill[w];
    size_t global[3];
    cl_int error;
    rondo_status status = set_move(d, k, m, global);
    if (status)
        return status;
    RD_CL(d->backend, error, clEnqueueNDRangeKernel, at.queue, k, 3, NULL, global, NULL, at.waits,
          at.wait, at.last);
    return error ? rd_opencl_failed(d, "clEnqueueNDRangeKernel", error) : RONDO_OK;
}

static int kernel_may(const struct rd_opencl_device *d, const struct rd_opencl_move *m)
{
    if (d->system || !m->from)
        return 1;
    return rd_opencl_is_ours(d, m->to, span(&m->box, m->box.to_pitch)) &&
           rd_opencl_is_ours(d, m->from, span(&m->box, m->box.from_pitch));
}

/* ---- row by row */

static rondo_status enqueue_rows(struct rd_opencl_device *d, const struct rd_opencl_move *m,
                                 struct rd_opencl_at at)
{
    const struct rd_box_move *x = &m->box;
    const size_t rows = x->rows * x->planes;
    for (size_t i = 0; i < rows; i++) {
        size_t y = i % x->rows, z = i / x->rows;
        cl_event *event = i + 1 == rows ? at.last : i == 0 ? at.first : NULL;
        cl_int error;
        RD_CL(d->backend, error, clEnqueueSVMMemcpy, at.queue, CL_FALSE,
              m->to + z * x->to_pitch[1] + y * x->to_pitch[0],
              m->from + z * x->from_pitch[1] + y * x->from_pitch[0], x->row, at.waits, at.wait,
              event);
        if (error)
            return rd_opencl_failed(d, "clEnqueueSVMMemcpy", error);
    }
    return RONDO_OK;
}

static rondo_status enqueue_fill(struct rd_opencl_device *d, const struct rd_opencl_move *m,
                                 struct rd_opencl_at at)
{
    cl_int error;
    RD_CL(d->backend, error, clEnqueueSVMMemFill, at.queue, m->to, m->value, m->elem_bytes,
          m->box.row, at.waits, at.wait, at.last);
    return error ? rd_opencl_failed(d, "clEnqueueSVMMemFill", error) : RONDO_OK;
}

/* ---- either */

int rd_opencl_needs_movers(const struct rd_opencl_device *d, const struct rd_command *c)
{
    return (!d->native || d->backend->way == RD_OPENCL_RECORDED) &&
           (c->kind == RD_COMMAND_COPY || c->kind == RD_COMMAND_FILL);
}

rondo_status rd_opencl_move_kernel(struct rd_opencl_device *d,
                                   const struct rd_opencl_movers *movers,
                                   const struct rd_opencl_move *move, cl_kernel *kernel,
                                   size_t *global)
{
    struct rd_opencl_move m = folded(move);
    int w = width_of(&m);
    cl_int error;
    rondo_status status;
    *kernel = NULL;
    if (!kernel_may(d, &m))
        return RONDO_OK;
    RD_CL_NEW(d->backend, error, *kernel, clCreateKernel, movers->program->program,
              m.from ? copy_names[w] : fill_names[w]);
    if (error) {
        *kernel = NULL;
        return rd_opencl_failed(d, "clCreateKernel", error);
    }
    status = set_move(d, *kernel, &m, global);
    if (status) {
        RD_CL_RELEASE(d->backend, clReleaseKernel, *kernel);
        *kernel = NULL;
    }
    return status;
}

/* How a folded move is made. */
enum by { BY_ROWS, BY_FILL, BY_HOST, BY_KERNEL };

static enum by how(const struct rd_opencl_device *d, const struct rd_opencl_move *m)
{
    const size_t rows = m->box.rows * m->box.planes;
    if (rows == 1 && m->from)
        return BY_ROWS;
    if (rows == 1 && fills_by_call(m))
        return BY_FILL;
    if (d->native)
        return BY_HOST;
    return (m->from && rows <= FEW_ROWS) || !kernel_may(d, m) ? BY_ROWS : BY_KERNEL;
}

int rd_opencl_move_is_one(const struct rd_opencl_device *d, const struct rd_opencl_move *move)
{
    const struct rd_opencl_move m = folded(move);
    return how(d, &m) != BY_ROWS || m.box.rows * m.box.planes == 1;
}

rondo_status rd_opencl_enqueue_move(struct rd_opencl_device *d,
                                    const struct rd_opencl_movers *movers,
                                    const struct rd_opencl_move *move, struct rd_opencl_at at)
{
    struct rd_opencl_move m = folded(move);
    switch (how(d, &m)) {
    case BY_ROWS: return enqueue_rows(d, &m, at);
    case BY_FILL: return enqueue_fill(d, &m, at);
    case BY_HOST: return enqueue_native(d, &m, at);
    default: return enqueue_kernel(d, movers, &m, at);
    }
}

static rondo_status copy_locked(struct rd_opencl_device *d, const struct rd_device_copy *copy)
{
    const struct rd_opencl_move m = { .to = copy->to, .from = copy->from, .box = copy->box };
    rondo_status status =
        rd_opencl_enqueue_move(d, &d->movers, &m, (struct rd_opencl_at){ .queue = d->queue });
    if (status) {
        rd_opencl_drain(d, d->queue);
        return status;
    }
    return rd_opencl_finish(d, d->queue);
}

rondo_status rd_opencl_copy(struct rd_backend *b, uint32_t device,
                            const struct rd_device_copy *copy)
{
    struct rd_opencl_device *d = &b->device[device];
    rondo_status status;
    if (!copy->box.row || !copy->box.rows || !copy->box.planes)
        return RONDO_OK;
    pthread_mutex_lock(&d->lock);
    status = copy_locked(d, copy);
    pthread_mutex_unlock(&d->lock);
    return status;
}
