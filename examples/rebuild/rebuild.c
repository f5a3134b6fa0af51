/* SPDX-License-Identifier: BSD-3-Clause */
/* The time step of a particle code: atoms move, are sorted into cells every 20 steps, feel forces,
 * and their energy is summed up; a check every 10 steps stops the run when the energy has drifted.
 * All 100,000 steps are one call. The bodies are simple; what is shown is the graph:
 *
 *   tokens       what is ordered is blocks of atoms, which live in the program's own arrays
 *   when         a node that runs every 20 steps and is no barrier in the other 19
 *   temporary    the energy: one per replay in flight, zeros at its begin
 *   reduce       each block adds its share; the sum has the same bits in every mode
 *   stop         the check in step i stops steps after i + 3; up to there they run whole
 *
 * It runs in every mode and schedule, and each time compares with the plain loop, bit for bit. */
#include <rondo/rondo.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 16, PER_BLOCK = 64, ATOMS = BLOCKS * PER_BLOCK, STEPS = 100000, LAG = 3 };

struct system {
    double x[ATOMS], v[ATOMS], f[ATOMS];
    int cell[ATOMS];
    double e0; /* energy of step 0 */
    long rebuilt, checked;
};

/* ---- the bodies, on atoms [first, first + count) */

static void integrate_range(struct system *s, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        s->v[i] += 0.0005 * s->f[i];
        s->x[i] += 0.001 * s->v[i];
    }
}

static void sort_into_cells(struct system *s)
{
    for (int i = 0; i < ATOMS; i++)
        s->cell[i] = (int)floor(s->x[i]);
    s->rebuilt++;
}

/* The force on an atom from its neighbours in the chain; the energy of the range comes back. */
static double force_range(struct system *s, int64_t first, int64_t count)
{
    double energy = 0;
    for (int64_t i = first; i < first + count; i++) {
        double left = i ? s->x[i] - s->x[i - 1] - 1 : 0;
        double right = i < ATOMS - 1 ? s->x[i + 1] - s->x[i] - 1 : 0;
        s->f[i] = 40 * (right - left) + 0.01 * s->cell[i];
        energy += 20 * left * left + 0.5 * s->v[i] * s->v[i];
    }
    return energy;
}

static int has_drifted(struct system *s, double energy)
{
    if (!s->checked++)
        s->e0 = energy;
    return fabs(energy - s->e0) > 0.9 * fabs(s->e0);
}

static void begin(struct system *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < ATOMS; i++) {
        s->x[i] = i + 0.1 * sin(i);
        s->v[i] = 0.2 * cos(3 * i);
    }
}

/* The plain loop; the number of steps that ran comes back. The energy is summed block by block, as
 * the reduction does. */
static long plain_loop(struct system *s)
{
    long last = STEPS - 1;
    begin(s);
    for (long t = 0; t <= last; t++) {
        double energy = 0;
        for (int b = 0; b < BLOCKS; b++)
            integrate_range(s, b * PER_BLOCK, PER_BLOCK);
        if (t % 20 == 0)
            sort_into_cells(s);
        for (int b = 0; b < BLOCKS; b++)
            energy += force_range(s, b * PER_BLOCK, PER_BLOCK);
        if (t % 10 == 0 && has_drifted(s, energy) && t + LAG < last)
            last = t + LAG;
    }
    return last + 1;
}

/* ---- the tasks */

static int integrate(rondo_task *self, const void *arg)
{
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    integrate_range(rondo_task_context(self), r->first[0] * PER_BLOCK, r->count[0] * PER_BLOCK);
    return 0;
}

static int rebuild(rondo_task *self, const void *arg)
{
    (void)arg;
    sort_into_cells(rondo_task_context(self));
    return 0;
}

static int force(rondo_task *self, const void *arg)
{
    const rondo_region *r = rondo_task_chunk(self);
    double *energy = rondo_task_write(self, 3); /* this node's share */
    (void)arg;
    *energy +=
        force_range(rondo_task_context(self), r->first[0] * PER_BLOCK, r->count[0] * PER_BLOCK);
    return 0;
}

static int check(rondo_task *self, const void *arg)
{
    const double *energy = rondo_task_read(self, 0);
    (void)arg;
    if (has_drifted(rondo_task_context(self), *energy))
        rondo_task_stop(self);
    return 0;
}

/* ---- the recording */

static rondo_slot token(rondo_subgraph g, const char *name)
{
    return rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .name = name, .shape = { 0, { BLOCKS }, { 0 } } });
}

static void for_blocks(rondo_subgraph g, rondo_task_desc task)
{
    rondo_record_for(g, &(rondo_for_desc){ .task = &task,
                                           .task_bytes = sizeof task,
                                           .range = rondo_span(0, BLOCKS),
                                           .chunks = { BLOCKS } });
}

static void record(rondo_subgraph g, struct system *s)
{
    rondo_slot x = token(g, "x"), v = token(g, "v"), f = token(g, "f"), cells = token(g, "cells");
    rondo_slot energy =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "energy",
                                                   .shape = { sizeof(double), { 1 }, { 0 } },
                                                   .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    for_blocks(g, (rondo_task_desc){ .name = "integrate",
                                     .fn = integrate,
                                     .context = s,
                                     RONDO_ACCESSES(rondo_chunk(x, RONDO_READ_WRITE, 0, 0),
                                                    rondo_chunk(v, RONDO_READ_WRITE, 0, 0),
                                                    rondo_chunk(f, RONDO_READ, 0, 0)) });
    rondo_record_task(g, &(rondo_task_desc){ .name = "rebuild",
                                             .fn = rebuild,
                                             .context = s,
                                             .when = { .every = 20 },
                                             RONDO_ACCESSES(rondo_read(x, rondo_whole()),
                                                            rondo_write(cells, rondo_whole())) });
    for_blocks(
        g, (rondo_task_desc){
               .name = "force",
               .fn = force,
               .context = s,
               RONDO_ACCESSES(rondo_chunk(x, RONDO_READ, 1, 0), rondo_chunk(f, RONDO_WRITE, 0, 0),
                              rondo_chunk(cells, RONDO_READ, 0, 0),
                              rondo_reduce(energy, rondo_whole(), RONDO_F64, RONDO_SUM),
                              rondo_chunk(v, RONDO_READ, 0, 0)) });
    rondo_record_allreduce(g, &(rondo_move_desc){ .name = "all ranks",
                                                  .from = rondo_read_write(energy, rondo_whole()),
                                                  .type = RONDO_F64,
                                                  .op = RONDO_SUM });
    rondo_record_task(g, &(rondo_task_desc){ .name = "check",
                                             .fn = check,
                                             .context = s,
                                             .when = { .every = 10 },
                                             .flags = RONDO_MAY_STOP,
                                             .stop_lag = LAG,
                                             RONDO_ACCESSES(rondo_read(energy, rondo_whole())) });
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, rondo_error_message());
    return 1;
}

static int run(rondo_runtime rt, const char *name, const rondo_instantiate_options *options,
               const struct system *plain, long plain_steps)
{
    static struct system s;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_event done;
    rondo_result r;
    int same;
    begin(&s);
    if (rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "step" }, &g))
        return fail("create");
    record(g, &s);
    if (rondo_instantiate(g, options, &exec))
        return fail("instantiate");
    if (rondo_replay(exec, &(rondo_replay_args){ .count = STEPS }, &done) ||
        rondo_event_wait(done, -1) || rondo_event_result(done, &r))
        return fail("replay");
    same = r.status == RONDO_OK && r.stopped && (long)r.replays_run == plain_steps &&
           s.rebuilt == plain->rebuilt && !memcmp(s.x, plain->x, sizeof s.x) &&
           !memcmp(s.v, plain->v, sizeof s.v);
    printf("  %-22s %5llu steps, stopped %u, rebuilt %ld times: %s\n", name,
           (unsigned long long)r.replays_run, r.stopped, s.rebuilt,
           same ? "equal to the plain loop" : "DIFFERENT");
    if (rondo_exec_destroy(exec) || rondo_subgraph_destroy(g))
        return fail("destroy");
    return !same;
}

int main(void)
{
    static struct system plain;
    long steps = plain_loop(&plain);
    rondo_runtime rt;
    int bad = 0;
    if (rondo_runtime_open(NULL, &rt))
        return fail("open");
    printf("rebuild: %d atoms in %d blocks, %d steps in one call; the plain loop stops after %ld\n",
           ATOMS, BLOCKS, STEPS, steps);
    bad |= run(rt, "interpreted", &(rondo_instantiate_options){ .mode = RONDO_INTERPRETED }, &plain,
               steps);
    bad |= run(rt, "static, serial",
               &(rondo_instantiate_options){ .schedule = RONDO_STATIC, .mode = RONDO_COMPILED },
               &plain, steps);
    bad |= run(rt, "static, pipelined",
               &(rondo_instantiate_options){
                   .schedule = RONDO_STATIC, .mode = RONDO_COMPILED, .order = RONDO_PIPELINED },
               &plain, steps);
    bad |= run(rt, "dataflow, pipelined",
               &(rondo_instantiate_options){ .schedule = RONDO_DATAFLOW, .order = RONDO_PIPELINED },
               &plain, steps);
    return rondo_runtime_close(rt) || bad;
}
