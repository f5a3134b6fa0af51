/* SPDX-License-Identifier: BSD-3-Clause */
/* Old code, wrapped in three stages. It is a loop over functions that work on globals; each stage
 * is right, and each lets more of it overlap:
 *
 *   calls      rondo_record_call: the functions as they are, in sequence, with all CPUs, so that
 *              OpenMP inside of them works as before
 *   tasks      the same functions as tasks without accesses: they touch everything, so the order is
 *              the same, but no thread changes hands
 *   accesses   what each function reads and writes is said: independent ones run side by side
 *
 * Each stage's result is compared with the plain loop's. */
#include <rondo/rondo.h>

#include <stdio.h>
#include <string.h>

enum { N = 4000, STEPS = 20 };

static double u[N], v[N], flux_u[N], flux_v[N], norm[2];
static int calls;

/* ---- the old code */

static void limit_u(void *unused)
{
    (void)unused;
    for (int i = 1; i < N - 1; i++)
        flux_u[i] = u[i + 1] - 2 * u[i] + u[i - 1];
}
static void limit_v(void *unused)
{
    (void)unused;
    for (int i = 1; i < N - 1; i++)
        flux_v[i] = v[i + 1] - 2 * v[i] + v[i - 1];
}
static void advance_u(void *dt)
{
    for (int i = 1; i < N - 1; i++)
        u[i] += *(const double *)dt * flux_u[i];
}
static void advance_v(void *dt)
{
    for (int i = 1; i < N - 1; i++)
        v[i] += *(const double *)dt * flux_v[i] + 0.001 * u[i];
}
static void measure(void *unused)
{
    (void)unused;
    norm[0] = norm[1] = 0;
    for (int i = 0; i < N; i++) {
        norm[0] += u[i] * u[i];
        norm[1] += v[i] * v[i];
    }
    calls++;
}

static double dt = 0.25;
static const struct {
    const char *name;
    void (*fn)(void *);
    void *arg;
} functions[] = { { "limit u", limit_u, NULL },
                  { "limit v", limit_v, NULL },
                  { "advance u", advance_u, &dt },
                  { "advance v", advance_v, &dt },
                  { "measure", measure, NULL } };
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void begin(void)
{
    for (int i = 0; i < N; i++) {
        u[i] = i % 97;
        v[i] = i % 89;
    }
    calls = 0;
}

/* ---- recording one step of it */

/* One body for all five tasks: its argument says which. */
static int call(rondo_task *self, const void *arg)
{
    uint32_t which = *(const uint32_t *)arg;
    (void)self;
    functions[which].fn(functions[which].arg);
    return 0;
}

static void record_calls(rondo_subgraph g)
{
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        rondo_record_call(g, functions[i].name, functions[i].fn, functions[i].arg);
}

static void record_tasks(rondo_subgraph g)
{
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        rondo_record_task(
            g, &(rondo_task_desc){ .name = functions[i].name, .fn = call, RONDO_ARG(i) });
}

static rondo_slot token(rondo_subgraph g, const char *name)
{
    return rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = name, .shape = { 0, { 1 }, { 0 } } });
}

/* Tokens stand for the globals: they order, and the functions go on using the globals. */
static void record_accesses(rondo_subgraph g)
{
    rondo_slot tu = token(g, "u"), tv = token(g, "v"), fu = token(g, "flux u"),
               fv = token(g, "flux v"), tn = token(g, "norm");
    const rondo_region all = rondo_whole();
    const rondo_access accesses[FUNCTIONS][3] = {
        { rondo_read(tu, all), rondo_write(fu, all) },
        { rondo_read(tv, all), rondo_write(fv, all) },
        { rondo_read_write(tu, all), rondo_read(fu, all) },
        { rondo_read_write(tv, all), rondo_read(fv, all), rondo_read(tu, all) },
        { rondo_read(tu, all), rondo_read(tv, all), rondo_write(tn, all) },
    };
    static const uint32_t count[FUNCTIONS] = { 2, 2, 2, 3, 3 };
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        rondo_record_task(g, &(rondo_task_desc){ .name = functions[i].name,
                                                 .fn = call,
                                                 RONDO_ARG(i),
                                                 .accesses = accesses[i],
                                                 .access_count = count[i] });
}

/* ---- the loop, as it was but for three lines */

static int run(rondo_runtime rt, const char *name, void (*record)(rondo_subgraph),
               const double *expected)
{
    rondo_loop loop;
    rondo_subgraph g;
    rondo_result r;
    int same;
    begin();
    if (rondo_loop_create(rt, &(rondo_subgraph_desc){ .name = name }, NULL, &loop))
        return 1;
    for (int t = 0; t < STEPS; t++) {
        if (rondo_loop_record(loop, &g))
            record(g);
        if (rondo_loop_replay(loop, NULL, NULL))
            return 1;
        if (t % 5 == 0 && rondo_loop_wait(loop, &r)) /* before output, say */
            return 1;
    }
    if (rondo_loop_wait(loop, &r))
        return 1;
    same = calls == STEPS && norm[0] == expected[0] && norm[1] == expected[1];
    printf("  %-10s %d steps, norms %.6e %.6e: %s\n", name, calls, norm[0], norm[1],
           same ? "equal to the plain loop" : "DIFFERENT");
    return rondo_loop_destroy(loop) || !same;
}

int main(void)
{
    double expected[2];
    rondo_runtime rt;
    int bad;
    begin();
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < FUNCTIONS; i++)
            functions[i].fn(functions[i].arg);
    memcpy(expected, norm, sizeof expected);
    if (rondo_runtime_open(NULL, &rt)) {
        fprintf(stderr, "wrap: %s\n", rondo_error_message());
        return 1;
    }
    printf("wrap: %d functions on globals, %d steps\n", FUNCTIONS, STEPS);
    bad = run(rt, "calls", record_calls, expected) || run(rt, "tasks", record_tasks, expected) ||
          run(rt, "accesses", record_accesses, expected);
    if (bad)
        fprintf(stderr, "wrap: %s\n", rondo_error_message());
    return rondo_runtime_close(rt) || bad;
}
