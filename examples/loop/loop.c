/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest whole program: a heat loop, recorded once and replayed once per step, compared with
 * the plain loop it stands for. */
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

enum { NX = 256, NY = 256, STEPS = 25 };
static double a[NY][NX], b[NY][NX];                        /* the two grids Rondo works on */
static double plain[2][NY][NX];                            /* and those of the plain loop */
static double dt_of(int step) { return 0.1 / (1 + step); } /* a new value at each step */

/* The body of the plain loop, unchanged: a chunk is told in the grid's own indices. */
static int relax(rondo_task *self, const void *arg)
{
    (void)arg;
    const double *in = rondo_task_read(self, 0), dt = *(const double *)rondo_task_param(self, 0);
    double *out = rondo_task_write(self, 1);
    const rondo_region *r = rondo_task_chunk(self);
    for (int64_t y = r->first[1]; y < r->first[1] + r->count[1]; y++)
        for (int64_t x = r->first[0]; x < r->first[0] + r->count[0]; x++) {
            int64_t i = y * NX + x;
            out[i] = in[i] + dt * (in[i - 1] + in[i + 1] + in[i - NX] + in[i + NX] - 4 * in[i]);
        }
    return 0;
}

struct heat {
    rondo_runtime runtime;
    rondo_buffer grid[2];
    rondo_subgraph step;
    rondo_param dt;
    rondo_exec exec;
};

/* Sixteen nodes, one per tile; a tile reads one element around itself. Step i reads grid i % 2 and
 * writes the other one: two slots over one ring. The first error of a builder sticks to the
 * subgraph, so only rondo_instantiate needs a look. */
static void record(struct heat *heat)
{
    rondo_slot in = rondo_subgraph_slot(
        heat->step, &(rondo_slot_desc){ .name = "in", .ring = heat->grid, .ring_count = 2 });
    rondo_slot out = rondo_subgraph_slot(
        heat->step,
        &(rondo_slot_desc){ .name = "out", .ring = heat->grid, .ring_count = 2, .ring_first = 1 });
    heat->dt = rondo_subgraph_param(heat->step, "dt", sizeof(double), NULL);
    rondo_record_for(heat->step,
                     &(rondo_for_desc){
                         RONDO_TASK(.name = "relax", .fn = relax, RONDO_PARAMS(heat->dt),
                                    RONDO_ACCESSES(rondo_chunk(in, RONDO_READ, 1, 1),
                                                   rondo_chunk(out, RONDO_WRITE, 0, 0))),
                         .range = rondo_box(1, 1, NX - 2, NY - 2),
                         .chunks = { 4, 4 },
                     });
}

static rondo_status open_heat(struct heat *heat)
{
    rondo_status status;
    rondo_shape shape = { .elem_bytes = sizeof(double), .extent = { NX, NY } };
    rondo_buffer_desc first = { .shape = shape, .host = a }, second = { .shape = shape, .host = b };
    rondo_instantiate_options options = { .order = RONDO_PIPELINED };
    if ((status = rondo_runtime_open(NULL, &heat->runtime)) ||
        (status = rondo_buffer_create(heat->runtime, &first, &heat->grid[0])) ||
        (status = rondo_buffer_create(heat->runtime, &second, &heat->grid[1])) ||
        (status = rondo_subgraph_create(heat->runtime, NULL, &heat->step)))
        return status;
    record(heat);
    return rondo_instantiate(heat->step, &options, &heat->exec);
}

/* The loop: one replay per step, each with its own dt, and one wait at the end. */
static rondo_status run(struct heat *heat, rondo_result *result)
{
    for (int t = 0; t < STEPS; t++) {
        double now = dt_of(t);
        rondo_value value = { .param = heat->dt, .value = &now };
        rondo_replay_args args = { .values = &value, .value_count = 1 };
        rondo_status status = rondo_replay(heat->exec, &args, NULL);
        if (status)
            return status;
    }
    return rondo_exec_wait(heat->exec, result);
}

/* To destroy {0} is an error without consequences, so this may follow any failure. */
static void close_heat(struct heat *heat)
{
    rondo_exec_destroy(heat->exec);
    rondo_subgraph_destroy(heat->step);
    rondo_buffer_destroy(heat->grid[0]);
    rondo_buffer_destroy(heat->grid[1]);
    rondo_runtime_close(heat->runtime);
}

static void plain_heat(void)
{
    for (int t = 0; t < STEPS; t++) {
        double dt = dt_of(t), (*in)[NX] = plain[t % 2], (*out)[NX] = plain[(t + 1) % 2];
        for (int y = 1; y < NY - 1; y++)
            for (int x = 1; x < NX - 1; x++)
                out[y][x] = in[y][x] + dt * (in[y][x - 1] + in[y][x + 1] + in[y - 1][x] +
                                             in[y + 1][x] - 4 * in[y][x]);
    }
}

int main(void)
{
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            a[y][x] = b[y][x] = plain[0][y][x] = plain[1][y][x] = (x * 7 + y * 13) % 17;

    struct heat heat = { 0 };
    rondo_result result = { 0 };
    rondo_status status = open_heat(&heat);
    if (!status)
        status = run(&heat, &result);
    if (result.status)
        fprintf(stderr, "loop: replay %llu, node %s: %s\n", (unsigned long long)result.replay,
                result.node, result.message);
    else if (status)
        fprintf(stderr, "loop: %s\n", rondo_error_message());
    close_heat(&heat);
    if (status)
        return 1;

    plain_heat();
    int equal = !memcmp(STEPS % 2 ? b : a, plain[STEPS % 2], sizeof a);
    printf("heat: %s\n", equal ? "equal" : "DIFFERENT");
    return !equal;
}
