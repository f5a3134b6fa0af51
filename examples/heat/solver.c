/* SPDX-License-Identifier: BSD-3-Clause */
/* The heat loop in Rondo: this file is the one to read.
 *
 * A time loop does the same work at every step; only a few values change. With Rondo one step is
 * *recorded* as a subgraph, lowered once to a schedule (*instantiated*), and *replayed* for every
 * step. A replay analyses nothing, allocates nothing and takes no lock. */
#include "solver.h"
#include "common/ways.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call that fails leaves a message that names the object and the values. */
int solver_complain(void)
{
    fprintf(stderr, "heat: %s\n", rondo_error_message());
    return -1;
}

/* The body of a task. Nothing in it knows how many tiles there are or who runs it:
 *
 * - rondo_task_read and _write give point (0, 0) of the grid that fills the slot of access 0 and 1
 *   *in this replay*, so the loop keeps the grid's own indices;
 * - rondo_task_chunk tells which tile this node is;
 * - rondo_task_param is this replay's value of dt, also while later replays, with other values,
 *   are already running elsewhere. */
static int relax_tile(rondo_task *self, const void *arg)
{
    const int64_t *pitch = arg;
    const rondo_region *tile = rondo_task_chunk(self);
    const float *dt = rondo_task_param(self, 0);
    relax(rondo_task_read(self, 0), rondo_task_write(self, 1), *pitch, tile->first[0],
          tile->first[1], tile->count[0], tile->count[1], *dt);
    return 0;
}

/* The grids are buffers: bytes that Rondo knows by handle, with a shape. It allocates these two. */
static int make_grids(struct solver *solver)
{
    rondo_buffer_desc desc = {
        .name = "grid",
        .shape = { .elem_bytes = sizeof(float), .extent = { solver->nx, solver->ny } },
    };
    return rondo_buffer_create(solver->runtime, &desc, &solver->grid[0]) ||
           rondo_buffer_create(solver->runtime, &desc, &solver->grid[1]);
}

/* Tasks do not name buffers but *slots*, which buffers fill. Both slots here are filled by a
 * *ring*: in replay i the slot `in` is grid[i % 2] and `out` is grid[(i + 1) % 2]. That is the
 * "swap the pointers" of the plain loop, known to Rondo in advance. */
void solver_slots(const struct solver *solver, rondo_subgraph step, rondo_slot *in, rondo_slot *out)
{
    *in = rondo_subgraph_slot(
        step, &(rondo_slot_desc){ .name = "in", .ring = solver->grid, .ring_count = 2 });
    *out = rondo_subgraph_slot(
        step, &(rondo_slot_desc){
                  .name = "out", .ring = solver->grid, .ring_count = 2, .ring_first = 1 });
}

/* Records one step.
 *
 * rondo_record_for makes one task per tile. Its accesses say all there is to say about order: a
 * tile reads its own points and one more on each side (a halo, without corners, clipped at the
 * border) and writes its own points. Within a step the tiles are independent. From step to step
 * each tile needs five tiles of the step before (it reads what they wrote) and must not overwrite
 * what they still read: Rondo finds these *carried* edges itself, because it knows the ring.
 *
 * The outermost points belong to no tile, they keep their values in both grids. */
static void record_step(struct solver *solver, rondo_subgraph step,
                        const struct solver_options *options)
{
    rondo_slot in, out;
    solver_slots(solver, step, &in, &out);
    rondo_param dt = rondo_subgraph_param(step, "dt", sizeof(float), NULL);
    rondo_record_for(step,
                     &(rondo_for_desc){
                         RONDO_TASK(.name = "relax", .fn = relax_tile, .cost_ns = options->tile_ns,
                                    RONDO_ARG(solver->nx), RONDO_PARAMS(dt),
                                    RONDO_ACCESSES(rondo_chunk(in, RONDO_READ, 1, 1),
                                                   rondo_chunk(out, RONDO_WRITE, 0, 0))),
                         .range = rondo_box(1, 1, solver->nx - 2, solver->ny - 2),
                         .chunks = { options->tiles_x, options->tiles_y },
                     });
    solver->dt[EXEC_SERIAL] = solver->dt[EXEC_PIPELINED] = dt;
}

/* A subgraph is data; an *exec* is what can be replayed. Several can be made of one subgraph:
 *
 * - serial: step i + 1 begins when step i has ended, as after a barrier;
 * - pipelined: only the carried edges order steps. A tile of step i + 1 begins as soon as its five
 *   neighbours have finished step i, whatever the other tiles do. */
static int make_execs(struct solver *solver, rondo_subgraph step)
{
    static const uint32_t order[] = {
        [EXEC_SERIAL] = RONDO_SERIAL, [EXEC_PIPELINED] = RONDO_PIPELINED
    };
    for (int i = EXEC_SERIAL; i <= EXEC_PIPELINED; i++) {
        rondo_instantiate_options options = { .mode = RONDO_COMPILED, .order = order[i] };
        rondo_exec_counts counts;
        if (rondo_instantiate(step, &options, &solver->exec[i]) ||
            rondo_exec_count(solver->exec[i], &counts))
            return -1;
        solver->processors[i] = counts.processors;
    }
    return 0;
}

/* "none" and "all" may open none. */
static int look_for_device(struct solver *solver, const char *device)
{
    uint32_t devices;
    if (rondo_runtime_devices(solver->runtime, &devices))
        return solver_complain();
    if (devices)
        return 0;
    fprintf(stderr, "heat: --device %s: that opens no device\n", device);
    solver->no_device = 1;
    return -1;
}

static int open_runtime(struct solver *solver, const struct solver_options *options)
{
    char *cpus = NULL;
    if (options->workers && !(cpus = ways_cpu_list(options->workers))) {
        fprintf(stderr, "heat: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status = rondo_runtime_open(
        &(rondo_runtime_options){ .cpus = cpus, .devices = options->device }, &solver->runtime);
    free(cpus);
    if (!status)
        return options->device ? look_for_device(solver, options->device) : 0;
    solver->no_device = options->device && status == RONDO_ERR_INVALID;
    return solver_complain();
}

int solver_open(struct solver *solver, const struct field *initial,
                const struct solver_options *options)
{
    *solver = (struct solver){ .nx = initial->nx, .ny = initial->ny };
    if (open_runtime(solver, options))
        return -1;
    rondo_subgraph step;
    if (make_grids(solver) ||
        rondo_subgraph_create(solver->runtime, &(rondo_subgraph_desc){ .name = "heat step" },
                              &step))
        return solver_complain();
    record_step(solver, step, options);
    /* What record_step's calls had to complain about comes out of rondo_instantiate. */
    int failed = make_execs(solver, step) ? solver_complain() : 0;
    rondo_subgraph_destroy(step); /* the execs own copies of all they need */
    if (!failed && options->device)
        failed = solver_make_device_execs(solver) ? solver_complain() : 0;
    return failed;
}

void solver_close(struct solver *solver)
{
    if (!solver->runtime.id)
        return;
    /* To destroy {0}, where opening stopped half-way, is an error without consequences. */
    for (int i = 0; i < EXECS; i++)
        rondo_exec_destroy(solver->exec[i]);
    for (int i = 0; i < 2; i++)
        rondo_buffer_destroy(solver->grid[i]);
    if (rondo_runtime_close(solver->runtime))
        solver_complain();
    solver->runtime.id = 0;
}

/* The loop. Nothing waits in it for a step to end: rondo_replay submits, and waits only while four
 * replays (the default window) are in flight, working as the first processor's worker meanwhile.
 * The value of dt is copied before the call returns. */
int solver_run(struct solver *solver, enum solver_exec which, uint32_t mode, int64_t steps)
{
    rondo_exec exec = solver->exec[which];
    if (rondo_exec_set_mode(exec, mode))
        return solver_complain();
    for (int64_t i = 0; i < steps; i++) {
        float dt = step_length(i);
        rondo_value value = { .param = solver->dt[which], .value = &dt };
        if (rondo_replay(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, NULL))
            return solver_complain();
        solver->replays[which]++;
    }
    /* The first failure of a replay, if there was one, comes out here, with the node's name. */
    rondo_result result = { 0 };
    if (!rondo_exec_wait(exec, &result))
        return 0;
    if (!result.status)
        return solver_complain();
    fprintf(stderr, "heat: replay %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
            result.message);
    return -1;
}

/* Between replays the bytes of a buffer are ours: map gives their address, after it has brought
 * them home from a device, where that has them. */
static int copy(rondo_buffer grid, uint32_t mode, float *field, size_t bytes)
{
    void *host;
    if (rondo_buffer_map(grid, mode, &host))
        return solver_complain();
    if (mode == RONDO_WRITE)
        memcpy(host, field, bytes);
    else
        memcpy(field, host, bytes);
    return rondo_buffer_unmap(grid) ? solver_complain() : 0;
}

int solver_reset(struct solver *solver, const struct field *initial)
{
    return copy(solver->grid[0], RONDO_WRITE, initial->v, field_bytes(initial)) ||
                   copy(solver->grid[1], RONDO_WRITE, initial->v, field_bytes(initial))
               ? -1
               : 0;
}

int solver_result(struct solver *solver, enum solver_exec which, struct field *field)
{
    return copy(solver->grid[solver->replays[which] % 2], RONDO_READ, field->v, field_bytes(field));
}
