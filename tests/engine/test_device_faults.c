/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of the driver fails on purpose, once and from then on: what the program asked for is
 * refused with the call's name, and the node's where there is one, or it is done right all the
 * same. Execs that need no device go on, all that was created is released, and in the end a run
 * without faults does what it should. */
#include "src/device/opencl.h"
#include "tests/engine/device_case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* A build without OpenCL has none; then no test of this file comes to it. */
#pragma weak rd_opencl_watch

enum { CELLS = 8, REPLAYS = 3, NAMES = 64 };

/* ---- the driver's calls, counted and made to fail */

struct calls {
    pthread_mutex_t lock;
    uint64_t count, fail_at;
    int persistent, failures;
    char first[64];         /* the call that failed first */
    char failed[NAMES][64]; /* which calls did */
    struct {
        char name[48];
        int64_t made, released;
    } kind[NAMES];
    uint32_t kinds;
};

static int fail(void *context, const char *call)
{
    struct calls *c = context;
    pthread_mutex_lock(&c->lock);
    const uint64_t n = ++c->count;
    /* Behind a driver that cannot even tell whether it has ended nothing could ever be freed. */
    const int goes_on = c->persistent && c->fail_at && strcmp(call, "clFinish") != 0;
    const int fails = n == c->fail_at || (goes_on && n > c->fail_at);
    if (fails && !c->failures)
        (void)snprintf(c->first, sizeof c->first, "%s", call);
    if (fails && c->failures++ < NAMES)
        (void)snprintf(c->failed[c->failures - 1], sizeof *c->failed, "%s", call);
    pthread_mutex_unlock(&c->lock);
    return fails ? -5 : 0; /* CL_OUT_OF_RESOURCES */
}

/* What is created by one call and released by another, by what it is. Sub-devices and events come
 * several from one call: not counted. */
static const char *kind_of(const char *call, int *made)
{
    static const struct {
        const char *call, *kind;
        int made;
    } calls[] = { { "clCreateContext", "context", 1 },
                  { "clReleaseContext", "context", 0 },
                  { "clCreateCommandQueueWithProperties", "queue", 1 },
                  { "clReleaseCommandQueue", "queue", 0 },
                  { "clCreateProgramWithSource", "program", 1 },
                  { "clReleaseProgram", "program", 0 },
                  { "clCreateKernel", "kernel", 1 },
                  { "clCloneKernel", "kernel", 1 },
                  { "clReleaseKernel", "kernel", 0 },
                  { "clCreateBuffer", "memory object", 1 },
                  { "clReleaseMemObject", "memory object", 0 },
                  { "clCreateUserEvent", "user event", 1 },
                  { "clCreateCommandBufferKHR", "command buffer", 1 },
                  { "clReleaseCommandBufferKHR", "command buffer", 0 },
                  { "clSVMAlloc", "shared memory", 1 },
                  { "clSVMFree", "shared memory", 0 } };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(call, calls[i].call) == 0) {
            *made = calls[i].made;
            return calls[i].kind;
        }
    return NULL;
}

static void made(void *context, const char *call, int error)
{
    struct calls *c = context;
    int is_new = 0;
    uint32_t k = 0;
    const char *kind = error ? NULL : kind_of(call, &is_new);
    if (!kind)
        return;
    pthread_mutex_lock(&c->lock);
    while (k < c->kinds && strcmp(c->kind[k].name, kind) != 0)
        k++;
    if (k == c->kinds)
        (void)snprintf(c->kind[c->kinds++].name, sizeof c->kind->name, "%s", kind);
    *(is_new ? &c->kind[k].made : &c->kind[k].released) += 1;
    pthread_mutex_unlock(&c->lock);
}

static void check_released(const struct calls *c)
{
    for (uint32_t k = 0; k < c->kinds; k++)
        cr_assert_eq(c->kind[k].made, c->kind[k].released,
                     "call %llu (%s) fails: %lld of %s made, %lld released",
                     (unsigned long long)c->fail_at, c->first, (long long)c->kind[k].made,
                     c->kind[k].name, (long long)c->kind[k].released);
}

/* ---- the program */

struct program {
    struct calls calls;
    rondo_runtime rt;
    rondo_subgraph g, plain;
    rondo_buffer cells, sum, there, count;
    rondo_exec exec, host;
    rondo_param t;
    uint64_t cell[CELLS], total, counted, host_runs;
    uint32_t refused;
};

/* A failed call is named. A device that does not say what it has is taken not to have it: named
 * is what is missing then. */
static int named(const struct calls *c, const char *message)
{
    for (int i = 0; i < c->failures && i < NAMES; i++)
        if (strstr(message, c->failed[i]))
            return 1;
    return strcmp(c->first, "clGetDeviceInfo") == 0 && strstr(message, "device");
}

/* A refused call: a driver's call was made to fail before, and is named; or it is the device that
 * was lost by it. */
static int refused(struct program *p, rondo_status status, const char *call, const char *message)
{
    if (status == RONDO_OK)
        return 0;
    cr_assert(p->calls.failures, "%s: %s, but no call was made to fail", call, message);
    cr_assert(named(&p->calls, message) || status == RONDO_ERR_DEVICE_LOST ||
                  status == RONDO_ERR_CANCELLED,
              "%s: call %llu, %s, is not named: '%s': %s", call,
              (unsigned long long)p->calls.fail_at, p->calls.first, rondo_status_string(status),
              message);
    p->refused++;
    return 1;
}
#define TRY_DEVICE(p, call) refused((p), (call), #call, rondo_error_message())

static int count_up(rondo_task *self, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)rondo_task_write(self, 0);
    return 0;
}

/* What a host task makes of the device's values: a crossing. */
static int add_all(rondo_task *self, const void *arg)
{
    const uint64_t *cells = rondo_task_read(self, 0);
    uint64_t *sum = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < CELLS; i++)
        *sum += cells[i];
    return 0;
}

static void open_host(struct program *p)
{
    struct dc_machine m = { .runtime = p->rt };
    p->count = dc_wrap(m, "count", &p->counted, 1);
    ET_OK(rondo_subgraph_create(p->rt, NULL, &p->plain));
    m.subgraph = p->plain;
    rondo_slot slot = dc_slot(m, "count", p->count);
    ET_HANDLE(rondo_record_task(
        p->plain, &(rondo_task_desc){ .name = "host",
                                      .fn = count_up,
                                      RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
    ET_OK(rondo_instantiate(p->plain, NULL, &p->host));
}

static void use_host(struct program *p)
{
    ET_OK(rondo_replay_and_wait(p->host, NULL, -1, NULL));
    cr_assert_eq(p->counted, ++p->host_runs);
}

static int make_buffers(struct program *p)
{
    struct dc_machine m = { .runtime = p->rt };
    rondo_buffer_desc d = { .name = "there",
                            .shape = { 8, { CELLS }, { 0 } },
                            .memory = RONDO_GPU_MEMORY(0) };
    p->cells = dc_wrap(m, "cells", p->cell, CELLS);
    p->sum = dc_wrap(m, "sum", &p->total, 1);
    return TRY_DEVICE(p, rondo_buffer_create(p->rt, &d, &p->there));
}

/* cells = cells * 2; there = cells; there mixed with t by value and by address; sum += all of there
 * (on the host); cells[0] = 1. */
static void record_all(struct program *p)
{
    const uint64_t one = 1;
    struct dc_machine m = { .runtime = p->rt };
    ET_OK(rondo_subgraph_create(p->rt, NULL, &p->g));
    m.subgraph = p->g;
    rondo_slot cells = dc_slot(m, "cells", p->cells), there = dc_slot(m, "there", p->there);
    rondo_slot sum = dc_slot(m, "sum", p->sum);
    rondo_access first = rondo_read_write(there, rondo_span(0, 1));
    p->t = rondo_subgraph_param(p->g, "t", 8, NULL);
    ET_HANDLE(DC_KERNEL(m, twice, CELLS, RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                        RONDO_ACCESSES(rondo_read_write(cells, rondo_whole()))));
    ET_HANDLE(rondo_record_copy(p->g, &(rondo_move_desc){ .from = rondo_read(cells, rondo_whole()),
                                                          .to = rondo_write(there, rondo_whole()),
                                                          .on = RONDO_GPU(0) }));
    ET_HANDLE(DC_KERNEL(m, mix_value, 1,
                        RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_param(p->t)),
                        RONDO_ACCESSES(first)));
    ET_HANDLE(DC_KERNEL(m, mix_address, 1,
                        RONDO_KERNEL_ARGS(rondo_arg_access(0), rondo_arg_param_address(p->t)),
                        RONDO_ACCESSES(first)));
    ET_HANDLE(rondo_record_task(
        p->g, &(rondo_task_desc){ .name = "add",
                                  .fn = add_all,
                                  RONDO_ACCESSES(rondo_read(there, rondo_whole()),
                                                 rondo_read_write(sum, rondo_whole())) }));
    ET_HANDLE(
        rondo_record_fill(p->g, &(rondo_move_desc){ .to = rondo_write(cells, rondo_span(0, 1)),
                                                    .value = &one,
                                                    .value_bytes = 8,
                                                    .on = RONDO_GPU(0) }));
}

static void plain_all(uint64_t cells[CELLS], uint64_t *sum, uint64_t t)
{
    uint64_t there[CELLS];
    for (int i = 0; i < CELLS; i++)
        there[i] = cells[i] *= 2;
    there[0] = (there[0] * 31 + t) * 31 + t;
    for (int i = 0; i < CELLS; i++)
        *sum += there[i];
    cells[0] = 1;
}

/* In flight at once; a replay that failed says which node, or that the device is lost. */
static int replay_all(struct program *p)
{
    rondo_result result = { .status = RONDO_OK };
    for (uint64_t r = 0; r < REPLAYS; r++) {
        uint64_t t = r + 5;
        rondo_value value = { p->t, &t, 0 };
        rondo_replay_args args = { .values = &value, .value_count = 1 };
        if (TRY_DEVICE(p, rondo_replay(p->exec, &args, NULL)))
            break;
    }
    rondo_status status = rondo_exec_wait(p->exec, &result);
    if (status)
        cr_assert(result.node[0], "call %llu, %s: no node: '%s'",
                  (unsigned long long)p->calls.fail_at, p->calls.first, result.message);
    return refused(p, status, "replays", result.message);
}

static void check_result(struct program *p)
{
    uint64_t cells[CELLS], sum = 0;
    for (uint64_t i = 0; i < CELLS; i++)
        cells[i] = i;
    for (uint64_t r = 0; r < REPLAYS; r++)
        plain_all(cells, &sum, r + 5);
    cr_assert_arr_eq(p->cell, cells, sizeof cells, "call %llu, %s: cells differ",
                     (unsigned long long)p->calls.fail_at, p->calls.first);
    cr_assert_eq(p->total, sum, "call %llu, %s: sum differs", (unsigned long long)p->calls.fail_at,
                 p->calls.first);
}

/* Until something is refused. */
static void use_device(struct program *p, const struct et_mode *mode)
{
    const rondo_instantiate_options o = { .mode = mode->mode, .order = mode->order, .window = 2 };
    void *host;
    if (make_buffers(p))
        return;
    record_all(p);
    if (TRY_DEVICE(p, rondo_instantiate(p->g, &o, &p->exec)) || replay_all(p))
        return;
    use_host(p);
    if (TRY_DEVICE(p, rondo_buffer_sync(p->there, RONDO_HOST, NULL)) ||
        TRY_DEVICE(p, rondo_buffer_map(p->sum, RONDO_READ, &host)))
        return;
    ET_OK(rondo_buffer_unmap(p->sum));
    if (TRY_DEVICE(p, rondo_buffer_map(p->cells, RONDO_READ, &host)))
        return;
    ET_OK(rondo_buffer_unmap(p->cells));
    check_result(p);
}

static void end_all(struct program *p)
{
    const rondo_buffer buffer[] = { p->cells, p->sum, p->there, p->count };
    use_host(p);
    (void)rondo_exec_destroy(p->exec);
    ET_OK(rondo_exec_destroy(p->host));
    (void)rondo_subgraph_destroy(p->g);
    ET_OK(rondo_subgraph_destroy(p->plain));
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++)
        (void)rondo_buffer_destroy(buffer[i]);
    const char *left = du_close_clean(p->rt);
    cr_assert(!left, "call %llu, %s: %s", (unsigned long long)p->calls.fail_at, p->calls.first,
              left ? left : "");
}

/* Whether a call was made to fail at all. */
static int run_all(uint64_t fail_at, int persistent, const struct et_mode *mode, uint64_t *refusals)
{
    static struct program p;
    char cpu[16];
    et_cpu_list(1, cpu, sizeof cpu);
    const rondo_runtime_options o = { .cpus = cpu, .park_after_ns = 1000, .devices = "opencl:0" };
    p = (struct program){ .calls = { .fail_at = fail_at, .persistent = persistent } };
    const struct rd_opencl_watch watch = { .fail = fail, .made = made, .context = &p.calls };
    pthread_mutex_init(&p.calls.lock, NULL);
    for (uint64_t i = 0; i < CELLS; i++)
        p.cell[i] = i;
    et_alarm(60, "stuck: %s, call %llu fails%s\n", mode->name, (unsigned long long)fail_at,
             persistent ? " and all behind it" : "");
    rd_opencl_watch(&watch);
    if (!TRY_DEVICE(&p, rondo_runtime_open(&o, &p.rt))) {
        open_host(&p);
        use_host(&p);
        use_device(&p, mode);
        end_all(&p);
    }
    rd_opencl_watch(NULL);
    check_released(&p.calls);
    pthread_mutex_destroy(&p.calls.lock);
    et_alarm(0, " ");
    *refusals += p.refused;
    cr_assert(!persistent || !p.calls.failures || p.refused, "call %llu, %s: all fail, nobody told",
              (unsigned long long)fail_at, p.calls.first);
    return p.calls.failures > 0;
}

/* Runs are long where everything is checked: every fourth call. */
#ifdef RD_DEBUG
enum { STEP = 4 };
#else
enum { STEP = 1 };
#endif

static void every_call(int persistent, const struct et_mode *mode)
{
    uint64_t n = 1, refusals = 0;
    DU_NEEDS_DEVICE();
    while (run_all(n, persistent, mode, &refusals))
        n += STEP;
    printf("%s: %llu calls failed, each %s; %llu calls refused\n", mode->name,
           (unsigned long long)(n - 1) / STEP, persistent ? "with all behind it" : "once",
           (unsigned long long)refusals);
    cr_assert(n > 40, "only %llu", (unsigned long long)n);
    cr_assert_eq(run_all(0, 0, mode, &refusals), 0);
}

Test(engine_device_faults, once_interpreted) { every_call(0, &dc_modes[0]); }
Test(engine_device_faults, once_compiled) { every_call(0, &dc_modes[3]); }
Test(engine_device_faults, for_good_interpreted) { every_call(1, &dc_modes[0]); }
Test(engine_device_faults, for_good_compiled) { every_call(1, &dc_modes[3]); }
