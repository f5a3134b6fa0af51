/* SPDX-License-Identifier: BSD-3-Clause */
/* The heat loop on a device, and on a device and CPUs together: read solver.c first.
 *
 * What is recorded are the same accesses to the same slots. Nothing here says when anything is
 * copied: Rondo knows what each node reads and writes and where it runs, and moves what has to
 * move. */
#include "solver.h"

#include <string.h>

/* `relax` of field.c: the same operations in the same order, and no multiplication and addition
 * made one, so that the bits are the same too. A work item is a point; the grid of work items
 * begins at (x, y). */
static const char source[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void relax(__global const float *in, __global float *out, long pitch, long x,\n"
    "                    long y, float dt)\n"
    "{\n"
    "    long i = (y + get_global_id(1)) * pitch + x + get_global_id(0);\n"
    "    out[i] = in[i] + dt * (in[i - 1] + in[i + 1] + in[i - pitch] + in[i + pitch] - 4 * "
    "in[i]);\n"
    "}\n";

/* A box with one more point on each side, but no corners: what a step of it reads. */
static rondo_access around(rondo_slot slot, rondo_region box)
{
    rondo_access access = rondo_read(slot, box);
    access.flags = RONDO_STAR;
    access.halo[0] = access.halo[1] = 1;
    return access;
}

/* A kernel has no function that asks for its place and its parameters; arguments say it all, in the
 * order of the source. An argument that is an access is the address of point (0, 0) in the memory
 * of the device, wherever that is in this replay. */
static void record_kernel(const struct solver *solver, rondo_subgraph step, rondo_slot in,
                          rondo_slot out, rondo_param dt, rondo_region box)
{
    rondo_record_kernel(step,
                        &(rondo_kernel_desc){
                            .name = "relax",
                            .format = RONDO_OPENCL_C,
                            .image = source,
                            .image_bytes = strlen(source),
                            .entry = "relax",
                            RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_access(1),
                                              rondo_arg_value(&solver->nx, sizeof solver->nx),
                                              rondo_arg_value(&box.first[0], sizeof box.first[0]),
                                              rondo_arg_value(&box.first[1], sizeof box.first[1]),
                                              rondo_arg_param(dt)),
                            .dimensions = 2,
                            .global = { (uint64_t)box.count[0], (uint64_t)box.count[1] },
                            RONDO_ACCESSES(around(in, box), rondo_write(out, box)),
                            .on = RONDO_GPU(0),
                        });
}

/* ---- the border on CPUs */

struct strip { /* of which a task is an argument */
    int64_t pitch;
    rondo_region box;
};

static int relax_strip(rondo_task *self, const void *arg)
{
    const struct strip *s = arg;
    const float *dt = rondo_task_param(self, 0);
    relax(rondo_task_read(self, 0), rondo_task_write(self, 1), s->pitch, s->box.first[0],
          s->box.first[1], s->box.count[0], s->box.count[1], *dt);
    return 0;
}

static void record_strip(const struct solver *solver, rondo_subgraph step, rondo_slot in,
                         rondo_slot out, rondo_param dt, rondo_region box)
{
    if (box.count[0] > 0 && box.count[1] > 0)
        rondo_record_task(
            step, &(rondo_task_desc){ .name = "border",
                                      .fn = relax_strip,
                                      RONDO_ARG(((struct strip){ solver->nx, box })),
                                      RONDO_PARAMS(dt),
                                      RONDO_ACCESSES(around(in, box), rondo_write(out, box)) });
}

/* Four strips around a box. Of each step the device needs from the CPUs the points next to its box,
 * and they need its outermost ones: two frames, one point wide, go over the border in each step and
 * nothing else does. */
static void record_mixed(const struct solver *solver, rondo_subgraph step, rondo_slot in,
                         rondo_slot out, rondo_param dt)
{
    enum { WIDE = 4 };
    int64_t nx = solver->nx - 2, ny = solver->ny - 2; /* points that change */
    int64_t bx = nx > 2 * WIDE ? WIDE : (nx - 1) / 2, by = ny > 2 * WIDE ? WIDE : (ny - 1) / 2;
    record_kernel(solver, step, in, out, dt, rondo_box(1 + bx, 1 + by, nx - 2 * bx, ny - 2 * by));
    record_strip(solver, step, in, out, dt, rondo_box(1, 1, nx, by));
    record_strip(solver, step, in, out, dt, rondo_box(1, 1 + ny - by, nx, by));
    record_strip(solver, step, in, out, dt, rondo_box(1, 1 + by, bx, ny - 2 * by));
    record_strip(solver, step, in, out, dt, rondo_box(1 + nx - bx, 1 + by, bx, ny - 2 * by));
}

/* Pipelined: the device is handed steps while it computes earlier ones. */
static int make_exec(struct solver *solver, enum solver_exec which)
{
    rondo_subgraph step;
    rondo_slot in, out;
    if (rondo_subgraph_create(solver->runtime, &(rondo_subgraph_desc){ .name = "heat device" },
                              &step))
        return -1;
    solver_slots(solver, step, &in, &out);
    rondo_param dt = solver->dt[which] = rondo_subgraph_param(step, "dt", sizeof(float), NULL);
    if (which == EXEC_DEVICE)
        record_kernel(solver, step, in, out, dt, rondo_box(1, 1, solver->nx - 2, solver->ny - 2));
    else
        record_mixed(solver, step, in, out, dt);
    rondo_instantiate_options options = { .mode = RONDO_COMPILED, .order = RONDO_PIPELINED };
    rondo_exec_counts counts;
    int failed = rondo_instantiate(step, &options, &solver->exec[which]) ||
                 rondo_exec_count(solver->exec[which], &counts);
    if (!failed)
        solver->processors[which] = counts.processors;
    rondo_subgraph_destroy(step);
    return failed ? -1 : 0;
}

int solver_make_device_execs(struct solver *solver)
{
    return make_exec(solver, EXEC_DEVICE) || make_exec(solver, EXEC_MIXED) ? -1 : 0;
}
