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
static int complain(void)
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

/* Records one step.
 *
 * Tasks do not name buffers but *slots*, which buffers fill. Both slots here are filled by a
 * *ring*: in replay i the slot `in` is grid[i % 2] and `out` is grid[(i + 1) % 2]. That is the
 * "swap the pointers" of the plain loop, known to Rondo in advance.
 *
 * rondo_record_for makes one task per tile. Its accesses say all there is to say about order: a
 * tile reads its own points and one more on each side (a halo, without corners, clipped at the
 * border) and writes its own points. Within a step the tiles are independent. From step to step
 * each tile needs five tiles of the step before (it reads what they wrote) and must not overwrite
 * what they still read: Rondo finds these *carried* edges itself, because it knows the ring.
 *
 * The outermost points belong to no tile, they keep their values in both grids. */
static void record_step(struct solver *solver, rondo_subgraph step, uint32_t tiles_x,
                        uint32_t tiles_y, double tile_ns)
{
    rondo_slot in = rondo_subgraph_slot(
        step, &(rondo_slot_desc){ .name = "in", .ring = solver->grid, .ring_count = 2 });
    rondo_slot out = rondo_subgraph_slot(
        step, &(rondo_slot_desc){
                  .name = "out", .ring = solver->grid, .ring_count = 2, .ring_first = 1 });
    solver->dt = rondo_subgraph_param(step, "dt", sizeof(float), NULL);
    rondo_record_for(step, &(rondo_for_desc){
                               RONDO_TASK(.name = "relax", .fn = relax_tile, .cost_ns = tile_ns,
                                          RONDO_ARG(solver->nx), RONDO_PARAMS(solver->dt),
                                          RONDO_ACCESSES(rondo_chunk(in, RONDO_READ, 1, 1),
                                                         rondo_chunk(out, RONDO_WRITE, 0, 0))),
                               .range = rondo_box(1, 1, solver->nx - 2, solver->ny - 2),
                               .chunks = { tiles_x, tiles_y },
                           });
}

/* A subgraph is data; an *exec* is what can be replayed. Several can be made of one subgraph:
 *
 * - serial: step i + 1 begins when step i has ended, as after a barrier;
 * - pipelined: only the carried edges order steps. A tile of step i + 1 begins as soon as its five
 *   neighbours have finished step i, whatever the other tiles do. */
static int make_execs(struct solver *solver, rondo_subgraph step)
{
    static const uint32_t order[2] = { RONDO_SERIAL, RONDO_PIPELINED };
    for (int i = 0; i < 2; i++) {
        rondo_instantiate_options options = { .mode = RONDO_COMPILED, .order = order[i] };
        rondo_exec_counts counts;
        if (rondo_instantiate(step, &options, &solver->exec[i]) ||
            rondo_exec_count(solver->exec[i], &counts))
            return -1;
        solver->processors[i] = counts.processors;
    }
    return 0;
}

int solver_open(struct solver *solver, const struct field *initial, uint32_t workers,
                uint32_t tiles_x, uint32_t tiles_y, double tile_ns)
{
    *solver = (struct solver){ .nx = initial->nx, .ny = initial->ny };
    char *cpus = NULL;
    if (workers && !(cpus = ways_cpu_list(workers))) {
        fprintf(stderr, "heat: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status =
        rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &solver->runtime);
    free(cpus);
    if (status)
        return complain();

    rondo_subgraph step;
    if (make_grids(solver) ||
        rondo_subgraph_create(solver->runtime, &(rondo_subgraph_desc){ .name = "heat step" },
                              &step))
        return complain();
    record_step(solver, step, tiles_x, tiles_y, tile_ns);
    /* What record_step's calls had to complain about comes out of rondo_instantiate. */
    int failed = make_execs(solver, step) ? complain() : 0;
    rondo_subgraph_destroy(step); /* the execs own copies of all they need */
    return failed;
}

void solver_close(struct solver *solver)
{
    if (!solver->runtime.id)
        return;
    /* To destroy {0}, where opening stopped half-way, is an error without consequences. */
    for (int i = 0; i < 2; i++) {
        rondo_exec_destroy(solver->exec[i]);
        rondo_buffer_destroy(solver->grid[i]);
    }
    if (rondo_runtime_close(solver->runtime))
        complain();
    solver->runtime.id = 0;
}

/* The loop. Nothing waits in it for a step to end: rondo_replay submits, and waits only while four
 * replays (the default window) are in flight, working as the first processor's worker meanwhile.
 * The value of dt is copied before the call returns. */
int solver_run(struct solver *solver, int which, uint32_t mode, int64_t steps)
{
    rondo_exec exec = solver->exec[which];
    if (rondo_exec_set_mode(exec, mode))
        return complain();
    for (int64_t i = 0; i < steps; i++) {
        float dt = step_length(i);
        rondo_value value = { .param = solver->dt, .value = &dt };
        if (rondo_replay(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, NULL))
            return complain();
        solver->replays[which]++;
    }
    /* The first failure of a replay, if there was one, comes out here, with the node's name. */
    rondo_result result = { 0 };
    if (!rondo_exec_wait(exec, &result))
        return 0;
    if (!result.status)
        return complain();
    fprintf(stderr, "heat: replay %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
            result.message);
    return -1;
}

/* Between replays the bytes of a buffer are ours: map gives their address. */
static int copy(rondo_buffer grid, uint32_t mode, float *field, size_t bytes)
{
    void *host;
    if (rondo_buffer_map(grid, mode, &host))
        return complain();
    if (mode == RONDO_WRITE)
        memcpy(host, field, bytes);
    else
        memcpy(field, host, bytes);
    return rondo_buffer_unmap(grid) ? complain() : 0;
}

int solver_reset(struct solver *solver, const struct field *initial)
{
    return copy(solver->grid[0], RONDO_WRITE, initial->v, field_bytes(initial)) ||
                   copy(solver->grid[1], RONDO_WRITE, initial->v, field_bytes(initial))
               ? -1
               : 0;
}

int solver_result(struct solver *solver, int which, struct field *field)
{
    return copy(solver->grid[solver->replays[which] % 2], RONDO_READ, field->v, field_bytes(field));
}
