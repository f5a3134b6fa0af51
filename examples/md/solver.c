/* SPDX-License-Identifier: BSD-3-Clause */
/* Molecular dynamics in Rondo: this file is the one to read.
 *
 * A time step is recorded once as a subgraph of tasks and replayed for every step. The stages (in
 * forces.c) know nothing of it: they are the functions that the plain loop calls, cell by cell.
 * What is said here is which stage touches what. From that Rondo knows all order there is, within a
 * step and from step to step, and needs no barrier anywhere. */
#include "solver.h"

#include "common/ways.h"
#include "forces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call that fails leaves a message that names the object and the values. */
static int complain(void)
{
    fprintf(stderr, "md: %s\n", rondo_error_message());
    return -1;
}

/* ---- the tasks */

static struct block chunk_of(rondo_task *self)
{
    const rondo_region *r = rondo_task_chunk(self);
    struct block block;
    memcpy(block.first, r->first, sizeof block.first);
    memcpy(block.count, r->count, sizeof block.count);
    return block;
}

/* One function for all six stages; the argument says which. The arrays are the program's own and
 * stay where they are, so `context` is enough to find them. What a stage has to complain about
 * becomes the replay's failure, with the node's name beside it. */
static int run_stage(rondo_task *self, const void *arg)
{
    stage_fn *const *stage = arg;
    struct block block = chunk_of(self);
    int status = stage_block(*stage, rondo_task_context(self), &block);
    return status ? rondo_task_fail(self, stage_reason(status)) : 0;
}

/* Access 0 and 1 reduce: what these addresses give is this node's share. */
static int run_measure(rondo_task *self, const void *arg)
{
    struct block block = chunk_of(self);
    (void)arg;
    measure_block(rondo_task_context(self), &block, rondo_task_write(self, 0),
                  rondo_task_write(self, 1));
    return 0;
}

static int run_check(rondo_task *self, const void *arg)
{
    const struct system *s = rondo_task_context(self);
    const double *energy = rondo_task_read(self, 0), *moved = rondo_task_read(self, 1);
    (void)arg;
    if (watch_check(rondo_task_write(self, 2), s, energy, *moved))
        rondo_task_stop(self);
    return 0;
}

/* ---- the slots
 *
 * Each array is a slot: a grid of cells, in which an element is all that one cell stores. Rooms
 * have a fixed size, so the region of a block never changes although its atoms do. The buffers wrap
 * memory that is there already. */
struct slots {
    rondo_slot members, at, velocity, force, home, leaving, pairs, watch, energy, moved;
};

static int make_buffers(struct solver *solver)
{
    const struct system *s = solver->system;
#define GRID(field)                                                                   \
    {                                                                                 \
#field, s->field, sizeof *s->field, { s->cells[0], s->cells[1], s->cells[2] } \
    }
    const struct {
        const char *name;
        void *array;
        size_t elem_bytes;
        int64_t extent[3];
    } array[ARRAYS] = { [ARRAY_MEMBERS] = GRID(members),
                        [ARRAY_AT] = GRID(at),
                        [ARRAY_VELOCITY] = GRID(velocity),
                        [ARRAY_FORCE] = GRID(force),
                        [ARRAY_HOME] = GRID(home),
                        [ARRAY_LEAVING] = GRID(leaving),
                        [ARRAY_PAIRS] = GRID(pairs),
                        [ARRAY_WATCH] = { "watch", s->watch, sizeof *s->watch, { 1 } } };
#undef GRID
    for (int i = 0; i < ARRAYS; i++) {
        rondo_buffer_desc desc = { .name = array[i].name,
                                   .shape = { .elem_bytes = array[i].elem_bytes },
                                   .host = array[i].array };
        memcpy(desc.shape.extent, array[i].extent, sizeof desc.shape.extent);
        if (rondo_buffer_create(solver->runtime, &desc, &solver->buffer[i]))
            return -1;
    }
    return 0;
}

static rondo_slot slot_of(const struct solver *solver, rondo_subgraph step, enum array array,
                          const char *name)
{
    return rondo_subgraph_slot(step,
                               &(rondo_slot_desc){ .name = name, .buffer = solver->buffer[array] });
}

/* Temporaries: Rondo's memory, one per replay in flight, so that sums of two steps never meet and
 * order nothing between them. */
static rondo_slot temporary(rondo_subgraph step, const char *name, int64_t doubles)
{
    return rondo_subgraph_slot(step,
                               &(rondo_slot_desc){ .name = name,
                                                   .shape = { sizeof(double), { doubles }, { 0 } },
                                                   .flags = RONDO_TEMPORARY | RONDO_ZEROED });
}

static struct slots make_slots(const struct solver *solver, rondo_subgraph step)
{
    return (struct slots){ .members = slot_of(solver, step, ARRAY_MEMBERS, "members"),
                           .at = slot_of(solver, step, ARRAY_AT, "at"),
                           .velocity = slot_of(solver, step, ARRAY_VELOCITY, "velocity"),
                           .force = slot_of(solver, step, ARRAY_FORCE, "force"),
                           .home = slot_of(solver, step, ARRAY_HOME, "home"),
                           .leaving = slot_of(solver, step, ARRAY_LEAVING, "leaving"),
                           .pairs = slot_of(solver, step, ARRAY_PAIRS, "pairs"),
                           .watch = slot_of(solver, step, ARRAY_WATCH, "watch"),
                           .energy = temporary(step, "energy", 2),
                           .moved = temporary(step, "moved", 1) };
}

/* ---- the recording */

/* A node's own cells, and those with one more cell on each side, around the periodic box. */
static rondo_access own(rondo_slot slot, unsigned mode) { return rondo_chunk(slot, mode, 0, 0); }
static rondo_access around(rondo_slot slot)
{
    rondo_access access = rondo_access_of(slot, RONDO_READ, rondo_whole());
    access.flags = RONDO_CHUNK | RONDO_WRAP;
    for (int d = 0; d < 3; d++)
        access.halo[d] = 1;
    return access;
}

/* One task per block, all alike. */
static void for_blocks(rondo_subgraph step, const struct system *s, rondo_task_desc task)
{
    rondo_record_for(step, &(rondo_for_desc){
                               .task = &task,
                               .task_bytes = sizeof task,
                               .range = rondo_box3(0, 0, 0, s->cells[0], s->cells[1], s->cells[2]),
                               .chunks = { (uint32_t)s->blocks[0], (uint32_t)s->blocks[1],
                                           (uint32_t)s->blocks[2] },
                           });
}

/* What a block of each stage takes in the mean step, by measurement: placement spreads it evenly,
 * and weighs it against the cost of handing results from one CPU to another. */
struct costs {
    double integrate, leave, arrive, pair, force, kick;
};

#define STAGE(stage, ...)                                                     \
    .name = #stage, .fn = run_stage, RONDO_ARG((stage_fn *){ stage##_cell }), \
    .context = solver->system, .cost_ns = costs->stage, RONDO_ACCESSES(__VA_ARGS__)

/* Every 20 steps, after the atoms have moved: `when` makes these nodes part of every twentieth
 * replay. In the others they do not run, and order nothing: no replay pays for what it does not do.
 *
 * Atoms move between blocks here. Not "send and receive": a block leaves a copy of its atoms, and
 * each block takes from the copies around it the atoms that are its own now. Regions say it all. */
static void record_rebuild(const struct solver *solver, rondo_subgraph step,
                           const struct slots *slot, const struct costs *costs)
{
    const struct system *s = solver->system;
    const rondo_when rebuild = { .every = REBUILD };
    for_blocks(
        step, s,
        (rondo_task_desc){ STAGE(leave, own(slot->members, RONDO_READ), own(slot->at, RONDO_READ),
                                 own(slot->velocity, RONDO_READ), own(slot->leaving, RONDO_WRITE)),
                           .when = rebuild });
    for_blocks(
        step, s,
        (rondo_task_desc){ STAGE(arrive, around(slot->leaving), own(slot->members, RONDO_WRITE),
                                 own(slot->at, RONDO_WRITE), own(slot->velocity, RONDO_WRITE),
                                 own(slot->home, RONDO_WRITE)),
                           .when = rebuild });
    for_blocks(step, s,
               (rondo_task_desc){ STAGE(pair, around(slot->members), around(slot->at),
                                        own(slot->pairs, RONDO_WRITE)),
                                  .when = rebuild });
}

/* Just before the next rebuild: energies, and how far an atom has moved from where the neighbour
 * lists were built. Shares are combined in the order of blocks, to the same bits in every mode.
 *
 * The check may stop the run. Here a step is one replay of a call of very many, so that nobody
 * outside looks at every step; and with `stop_lag` the next steps need not wait for the check. */
static void record_watch(const struct solver *solver, rondo_subgraph step, const struct slots *slot)
{
    const struct system *s = solver->system;
    const rondo_when last = { .every = REBUILD, .phase = REBUILD - 1 };
    for_blocks(step, s,
               (rondo_task_desc){
                   .name = "measure",
                   .fn = run_measure,
                   .context = solver->system,
                   RONDO_ACCESSES(rondo_reduce(slot->energy, rondo_whole(), RONDO_F64, RONDO_SUM),
                                  rondo_reduce(slot->moved, rondo_whole(), RONDO_F64, RONDO_MAX),
                                  own(slot->members, RONDO_READ), own(slot->velocity, RONDO_READ),
                                  own(slot->force, RONDO_READ), own(slot->home, RONDO_READ)),
                   .when = last });
    rondo_record_task(
        step, &(rondo_task_desc){ .name = "check",
                                  .fn = run_check,
                                  .context = solver->system,
                                  .flags = RONDO_MAY_STOP,
                                  .stop_lag = STOP_LAG,
                                  RONDO_ACCESSES(rondo_read(slot->energy, rondo_whole()),
                                                 rondo_read(slot->moved, rondo_whole()),
                                                 rondo_read_write(slot->watch, rondo_whole())),
                                  .when = last });
}

/* One step. The forces on a block need the positions of the blocks around it, so they begin when
 * those have moved; a block moves again when those around it have computed their forces. That is
 * all: in pipelined order two blocks that are far apart may be in different steps. */
static void record_step(const struct solver *solver, rondo_subgraph step, const struct costs *costs)
{
    const struct system *s = solver->system;
    const struct slots slots = make_slots(solver, step), *slot = &slots;
    for_blocks(step, s,
               (rondo_task_desc){
                   STAGE(integrate, own(slot->members, RONDO_READ), own(slot->at, RONDO_READ_WRITE),
                         own(slot->velocity, RONDO_READ_WRITE), own(slot->force, RONDO_READ),
                         own(slot->home, RONDO_READ_WRITE)) });
    record_rebuild(solver, step, slot, costs);
    for_blocks(
        step, s,
        (rondo_task_desc){ STAGE(force, around(slot->members), around(slot->at),
                                 own(slot->pairs, RONDO_READ), own(slot->force, RONDO_WRITE)) });
    for_blocks(step, s,
               (rondo_task_desc){ STAGE(kick, own(slot->members, RONDO_READ),
                                        own(slot->velocity, RONDO_READ_WRITE),
                                        own(slot->force, RONDO_READ)) });
    record_watch(solver, step, slot);
}

/* ---- execs: the same recording, to be run in several ways */

static int make_execs(struct solver *solver, rondo_subgraph step)
{
    static const rondo_instantiate_options options[EXECS] = {
        [EXEC_INTERPRETED] = { .mode = RONDO_INTERPRETED },
        [EXEC_SERIAL] = { .mode = RONDO_COMPILED, .schedule = RONDO_STATIC },
        [EXEC_PIPELINED] = { .mode = RONDO_COMPILED,
                             .schedule = RONDO_STATIC,
                             .order = RONDO_PIPELINED },
        [EXEC_CALLS] = { .mode = RONDO_COMPILED,
                         .schedule = RONDO_STATIC,
                         .order = RONDO_PIPELINED },
        [EXEC_DATAFLOW] = { .schedule = RONDO_DATAFLOW, .order = RONDO_PIPELINED },
        [EXEC_AUTO] = { .order = RONDO_PIPELINED },
    };
    for (int i = 0; i <= EXEC_AUTO; i++)
        if (rondo_instantiate(step, &options[i], &solver->exec[i]))
            return -1;
    return rondo_exec_count(solver->exec[EXEC_PIPELINED], &solver->counts) ? -1 : 0;
}

static double cost_of(const struct system *s, stage_fn *stage)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t begin = ways_now_ns();
        for (int64_t b = 0; b < s->block_count; b++)
            stage_block(stage, s, &s->block[b]);
        int64_t ns = ways_now_ns() - begin;
        best = ns < best ? ns : best;
    }
    return (double)best / (double)s->block_count;
}

static struct costs measure_costs(const struct system *s)
{
    struct costs costs;
    costs.integrate = cost_of(s, integrate_cell);
    costs.leave = cost_of(s, leave_cell) / REBUILD;
    costs.arrive = cost_of(s, arrive_cell) / REBUILD;
    costs.pair = cost_of(s, pair_cell) / REBUILD;
    costs.force = cost_of(s, force_cell);
    costs.kick = cost_of(s, kick_cell);
    return costs;
}

/* "none" and "all" may open none. */
static int look_for_device(struct solver *solver, const char *device)
{
    uint32_t devices;
    if (rondo_runtime_devices(solver->runtime, &devices))
        return complain();
    if (devices)
        return 0;
    fprintf(stderr, "md: --device %s: that opens no device\n", device);
    solver->no_device = 1;
    return -1;
}

static int open_runtime(struct solver *solver, uint32_t workers, const char *device)
{
    char *cpus = NULL;
    if (workers && !(cpus = ways_cpu_list(workers))) {
        fprintf(stderr, "md: the CPUs to use cannot be listed\n");
        return -1;
    }
    rondo_status status = rondo_runtime_open(
        &(rondo_runtime_options){ .cpus = cpus, .devices = device }, &solver->runtime);
    free(cpus);
    if (!status)
        return device ? look_for_device(solver, device) : 0;
    solver->no_device = device && status == RONDO_ERR_INVALID;
    return complain();
}

int solver_open(struct solver *solver, struct system *system, uint32_t workers, const char *device)
{
    *solver = (struct solver){ .system = system };
    rondo_subgraph step;
    if (open_runtime(solver, workers, device))
        return -1;
    if (make_buffers(solver) || rondo_runtime_processors(solver->runtime, &solver->workers) ||
        rondo_subgraph_create(solver->runtime, &(rondo_subgraph_desc){ .name = "md step" }, &step))
        return complain();
    struct costs costs = measure_costs(system);
    record_step(solver, step, &costs);
    /* What record_step's calls had to complain about comes out of rondo_instantiate. */
    int failed = make_execs(solver, step) ? complain() : 0;
    rondo_subgraph_destroy(step); /* the execs own copies of all they need */
    if (!failed && device)
        failed = solver_make_device_execs(solver) ? complain() : 0;
    return failed;
}

void solver_close(struct solver *solver)
{
    if (!solver->runtime.id)
        return;
    /* To destroy {0}, where opening stopped half-way, is an error without consequences. */
    for (int i = 0; i < EXECS; i++)
        rondo_exec_destroy(solver->exec[i]);
    for (int i = 0; i < ARRAYS; i++)
        rondo_buffer_destroy(solver->buffer[i]);
    for (int i = 0; i < DEVICE_ARRAYS; i++)
        rondo_buffer_destroy(solver->device_buffer[i]);
    if (rondo_runtime_close(solver->runtime))
        complain();
    solver->runtime.id = 0;
}

/* ---- the loop */

/* A call per step. Nothing waits in it for a step to end: rondo_replay submits, and waits only
 * while the window is full, working as the first processor's worker meanwhile. */
static int submit_steps(rondo_exec exec, int64_t steps, rondo_event *last)
{
    for (int64_t i = 0; i < steps; i++)
        if (rondo_replay(exec, NULL, last))
            return -1;
    return 0;
}

int solver_touched(struct solver *solver)
{
    for (int i = 0; i < ARRAYS; i++)
        if (rondo_buffer_touched(solver->buffer[i], RONDO_HOST))
            return complain();
    return 0;
}

/* Brings home what is current on a device only: the program looks at its own arrays. */
static int fetch(const struct solver *solver)
{
    for (int i = 0; i < ARRAYS; i++)
        if (rondo_buffer_sync(solver->buffer[i], RONDO_HOST, NULL))
            return complain();
    return 0;
}

int solver_run(struct solver *solver, enum solver_exec which, int64_t steps, int64_t *done)
{
    rondo_exec exec = solver->exec[which];
    rondo_replay_args all = { .count = (uint64_t)steps }; /* the whole loop in one call */
    rondo_event last;
    rondo_result result;
    if ((which == EXEC_CALLS ? submit_steps(exec, steps, &last)
                             : rondo_replay(exec, &all, &last)) ||
        rondo_event_wait(last, -1) || rondo_event_result(last, &result))
        return complain();
    *done = (int64_t)(result.replays_run - solver->replays[which]);
    solver->replays[which] = result.replays_run;
    if (!result.status)
        return which >= EXEC_DEVICE_INTERPRETED ? fetch(solver) : 0;
    fprintf(stderr, "md: replay %" PRIu64 ", node '%s': %s\n", result.replay, result.node,
            result.message);
    return -1;
}

static void print_text(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
}

int solver_describe(struct solver *solver, enum solver_exec which)
{
    return rondo_exec_describe(solver->exec[which], print_text, NULL) ? complain() : 0;
}
