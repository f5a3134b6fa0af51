/* SPDX-License-Identifier: BSD-3-Clause */
/* Molecular dynamics on a device: read solver.c first.
 *
 * The step is recorded as kernels, one per stage (stages.c), on the same buffers; the check that
 * may stop the run stays a function on a CPU. All arrays move to the device before the first step
 * and are home again when the program asks for them. In between only what the check looks at moves,
 * in the steps in which it runs. */
#include "device.h"

#include "forces.h"
#include "solver.h"

#include <stdlib.h>
#include <string.h>

enum device_array { TABLE_NEAR, TABLE_BLOCK, TABLE_BOX, SHARES, TROUBLE };

struct recording {
    const struct solver *solver;
    rondo_subgraph step;
    char *source, options[512];
    rondo_slot slot[ARRAYS], device_slot[DEVICE_ARRAYS];
};

/* ---- what only a device's step needs */

static const char *const device_names[DEVICE_ARRAYS] = { [TABLE_NEAR] = "near",
                                                         [TABLE_BLOCK] = "block",
                                                         [TABLE_BOX] = "box",
                                                         [SHARES] = "shares",
                                                         [TROUBLE] = "trouble" };

static int make_buffer(struct solver *solver, enum device_array which, void *host,
                       size_t elem_bytes, int64_t count)
{
    rondo_buffer_desc desc = { .name = device_names[which],
                               .shape = { .elem_bytes = elem_bytes, .extent = { count } },
                               .host = host };
    return rondo_buffer_create(solver->runtime, &desc, &solver->device_buffer[which]);
}

static int fill_box(const struct solver *solver)
{
    const struct system *s = solver->system;
    void *host;
    if (rondo_buffer_map(solver->device_buffer[TABLE_BOX], RONDO_WRITE, &host))
        return -1;
    struct box *box = host;
    memcpy(box->side, s->side, sizeof box->side);
    memcpy(box->width, s->width, sizeof box->width);
    memcpy(box->image, s->image, sizeof box->image);
    memcpy(box->cells, s->cells, sizeof box->cells);
    return rondo_buffer_unmap(solver->device_buffer[TABLE_BOX]);
}

static int make_buffers(struct solver *solver)
{
    const struct system *s = solver->system;
    return make_buffer(solver, TABLE_NEAR, s->near, sizeof *s->near, s->cell_count) ||
                   make_buffer(solver, TABLE_BLOCK, s->block, sizeof *s->block, s->block_count) ||
                   make_buffer(solver, TABLE_BOX, NULL, sizeof(struct box), 1) ||
                   make_buffer(solver, SHARES, NULL, SHARE * sizeof(double), s->block_count) ||
                   make_buffer(solver, TROUBLE, NULL, sizeof(int32_t), 1) || fill_box(solver)
               ? -1
               : 0;
}

/* ---- kernels */

static rondo_access read_of(rondo_slot slot) { return rondo_read(slot, rondo_whole()); }
static rondo_access change_of(rondo_slot slot) { return rondo_read_write(slot, rondo_whole()); }

/* A kernel whose arguments are its accesses, in their order, and then `dt`, where `with_dt` says
 * so. Unlike the blocks of solver.c it works on the whole system: how to share it out is the
 * device's affair. */
static void record_stage(const struct recording *r, const char *entry, uint64_t atoms,
                         uint64_t places, rondo_when when, int with_dt,
                         const rondo_access *accesses, uint32_t count)
{
    rondo_kernel_arg arg[8];
    for (uint32_t i = 0; i < count; i++)
        arg[i] = rondo_arg_access(i);
    if (with_dt)
        arg[count] = rondo_arg_value(&r->solver->system->dt, sizeof(double));
    rondo_record_kernel(r->step, &(rondo_kernel_desc){
                                     .name = entry,
                                     .format = RONDO_OPENCL_C,
                                     .image = r->source,
                                     .image_bytes = strlen(r->source),
                                     .entry = entry,
                                     .options = r->options,
                                     .args = arg,
                                     .arg_count = count + (with_dt ? 1 : 0),
                                     .dimensions = atoms ? 2 : 1,
                                     .global = { atoms ? atoms : places, atoms ? places : 0 },
                                     .local = { atoms, atoms ? 1 : 0 },
                                     .accesses = accesses,
                                     .access_count = count,
                                     .on = RONDO_GPU(0),
                                     .when = when,
                                 });
}

#define ACCESSES(...)                \
    (rondo_access[]){ __VA_ARGS__ }, \
        (uint32_t)(sizeof((rondo_access[]){ __VA_ARGS__ }) / sizeof(rondo_access))
#define READ(array)   read_of(r->slot[array])
#define CHANGE(array) change_of(r->slot[array])
#define TABLE(array)  read_of(r->device_slot[array])
#define NOTE(array)   change_of(r->device_slot[array])

/* Writes are changes: rooms for atoms are not filled to their ends. */
static void record_rebuild(const struct recording *r, uint64_t cells)
{
    const rondo_when rebuild = { .every = REBUILD };
    record_stage(r, "leave", 0, cells, rebuild, 0,
                 ACCESSES(READ(ARRAY_MEMBERS), READ(ARRAY_AT), READ(ARRAY_VELOCITY),
                          CHANGE(ARRAY_LEAVING), TABLE(TABLE_NEAR), TABLE(TABLE_BOX),
                          NOTE(TROUBLE)));
    record_stage(r, "arrive", 0, cells, rebuild, 0,
                 ACCESSES(READ(ARRAY_LEAVING), CHANGE(ARRAY_MEMBERS), CHANGE(ARRAY_AT),
                          CHANGE(ARRAY_VELOCITY), CHANGE(ARRAY_HOME), TABLE(TABLE_NEAR),
                          NOTE(TROUBLE)));
    record_stage(r, "pair", 0, cells, rebuild, 0,
                 ACCESSES(READ(ARRAY_MEMBERS), READ(ARRAY_AT), CHANGE(ARRAY_PAIRS),
                          TABLE(TABLE_NEAR), TABLE(TABLE_BOX), NOTE(TROUBLE)));
}

static void record_moves(const struct recording *r)
{
    const rondo_when always = { .every = 0 };
    const uint64_t cells = (uint64_t)r->solver->system->cell_count;
    record_stage(r, "integrate", 0, cells, always, 1,
                 ACCESSES(READ(ARRAY_MEMBERS), CHANGE(ARRAY_AT), CHANGE(ARRAY_VELOCITY),
                          READ(ARRAY_FORCE), CHANGE(ARRAY_HOME)));
    record_rebuild(r, cells);
    record_stage(r, "force", CELL_ATOMS, cells, always, 0,
                 ACCESSES(READ(ARRAY_MEMBERS), READ(ARRAY_AT), READ(ARRAY_PAIRS),
                          CHANGE(ARRAY_FORCE), TABLE(TABLE_NEAR), TABLE(TABLE_BOX)));
    record_stage(r, "kick", CELL_ATOMS, cells, always, 1,
                 ACCESSES(READ(ARRAY_MEMBERS), CHANGE(ARRAY_VELOCITY), READ(ARRAY_FORCE)));
}

/* ---- the check */

/* Blocks' shares in their order, as the plain loop adds them. What a kernel has to complain about
 * it cannot tell but by a number in memory. */
static int run_device_check(rondo_task *self, const void *arg)
{
    const struct system *s = rondo_task_context(self);
    const double *share = rondo_task_read(self, 0);
    const int32_t *trouble = rondo_task_read(self, 1);
    double energy[2] = { 0 }, moved = 0;
    (void)arg;
    if (*trouble)
        return rondo_task_fail(self, stage_reason(*trouble));
    for (int64_t b = 0; b < s->block_count; b++, share += SHARE) {
        energy[0] += share[0];
        energy[1] += share[1];
        moved = share[2] > moved ? share[2] : moved;
    }
    if (watch_check(rondo_task_write(self, 2), s, energy, moved))
        rondo_task_stop(self);
    return 0;
}

static void record_looks(const struct recording *r)
{
    const struct system *s = r->solver->system;
    const rondo_when last = { .every = REBUILD, .phase = REBUILD - 1 };
    record_stage(r, "energy", CELL_ATOMS, (uint64_t)s->cell_count, last, 0,
                 ACCESSES(READ(ARRAY_MEMBERS), READ(ARRAY_AT), READ(ARRAY_PAIRS),
                          CHANGE(ARRAY_FORCE), TABLE(TABLE_NEAR), TABLE(TABLE_BOX)));
    record_stage(r, "measure", 0, (uint64_t)s->block_count, last, 0,
                 ACCESSES(READ(ARRAY_MEMBERS), READ(ARRAY_VELOCITY), READ(ARRAY_FORCE),
                          READ(ARRAY_HOME), TABLE(TABLE_BLOCK), TABLE(TABLE_BOX), NOTE(SHARES)));
    rondo_record_task(r->step, &(rondo_task_desc){ .name = "check",
                                                   .fn = run_device_check,
                                                   .context = r->solver->system,
                                                   .flags = RONDO_MAY_STOP,
                                                   .stop_lag = STOP_LAG,
                                                   RONDO_ACCESSES(TABLE(SHARES), TABLE(TROUBLE),
                                                                  CHANGE(ARRAY_WATCH)),
                                                   .when = last });
}

/* ---- execs */

static int make_execs(struct solver *solver, struct recording *r)
{
    static const char *const name[ARRAYS] = {
        [ARRAY_MEMBERS] = "members", [ARRAY_AT] = "at",      [ARRAY_VELOCITY] = "velocity",
        [ARRAY_FORCE] = "force",     [ARRAY_HOME] = "home",  [ARRAY_LEAVING] = "leaving",
        [ARRAY_PAIRS] = "pairs",     [ARRAY_WATCH] = "watch"
    };
    for (int i = 0; i < ARRAYS; i++)
        r->slot[i] = rondo_subgraph_slot(
            r->step, &(rondo_slot_desc){ .name = name[i], .buffer = solver->buffer[i] });
    for (int i = 0; i < DEVICE_ARRAYS; i++)
        r->device_slot[i] =
            rondo_subgraph_slot(r->step, &(rondo_slot_desc){ .name = device_names[i],
                                                             .buffer = solver->device_buffer[i] });
    record_moves(r);
    record_looks(r);
    return rondo_instantiate(r->step, &(rondo_instantiate_options){ .mode = RONDO_INTERPRETED },
                             &solver->exec[EXEC_DEVICE_INTERPRETED]) ||
                   rondo_instantiate(r->step,
                                     &(rondo_instantiate_options){ .mode = RONDO_COMPILED,
                                                                   .order = RONDO_PIPELINED },
                                     &solver->exec[EXEC_DEVICE])
               ? -1
               : 0;
}

int solver_make_device_execs(struct solver *solver)
{
    struct recording r = { .solver = solver, .source = stages_source() };
    stages_options(r.options, sizeof r.options);
    int failed =
        !r.source || make_buffers(solver) ||
        rondo_subgraph_create(solver->runtime,
                              &(rondo_subgraph_desc){ .name = "md step on a device" }, &r.step);
    if (!failed) {
        failed = make_execs(solver, &r);
        rondo_subgraph_destroy(r.step);
    }
    free(r.source);
    return failed ? -1 : 0;
}
