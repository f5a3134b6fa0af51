/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong on devices, and what is told of it: on a device that fails when a test says so.
 */
#include "tests/engine/engine_util.h"
#include "tests/engine/every_mode.h"
#include "tests/support/device_kit.h"
#include "tests/support/fake_device.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { N = 64 };

struct bed {
    rondo_runtime rt;
    rondo_buffer u, v;
    rondo_subgraph g;
    rondo_exec x;
    rondo_node node[4];
};

/* u: first and second on the device, then `host`; v: a host task of its own. */
static void begin(struct bed *b, const struct em_mode *m, uint32_t workers, uint32_t window)
{
    static const char *const names[] = { "first", "second", "host", "beside" };
    rondo_instantiate_options options = em_options(m, window);
    et_alarm(60, "hangs: %s, %u workers\n", m->name, workers);
    b->rt = kit_open(KIT_FAKE, workers, 2);
    b->u = kit_buffer(b->rt, "u", N, 1, RONDO_HOST);
    b->v = kit_buffer(b->rt, "v", N, 1, RONDO_HOST);
    cr_assert_eq(rondo_subgraph_create(b->rt, &(rondo_subgraph_desc){ .name = "g" }, &b->g),
                 RONDO_OK);
    rondo_slot u = kit_slot(b->g, "u", b->u), v = kit_slot(b->g, "v", b->v);
    for (uint32_t i = 0; i < 4; i++)
        b->node[i] = kit_record(
            b->g, &(struct kit_node){ .name = names[i],
                                      .op = KIT_MIX,
                                      .u = i < 3 ? u : v,
                                      .count = N,
                                      .value = i,
                                      .on = i < 2 ? RONDO_GPU(0) : (uint32_t)RONDO_ANY_CPU });
    cr_assert_eq(rondo_instantiate(b->g, &options, &b->x), RONDO_OK, "%s", rondo_error_message());
}

static void end(struct bed *b)
{
    const char *left;
    fake_hold(0);
    cr_assert_eq(rondo_exec_destroy(b->x), RONDO_OK);
    rondo_subgraph_destroy(b->g);
    rondo_buffer_destroy(b->u);
    rondo_buffer_destroy(b->v);
    left = et_close_clean(b->rt);
    cr_assert_null(left, "%s", left);
    cr_assert_eq(fake_allocated(), 0);
    et_alarm(0, "%s", "");
}

#define EVERY_MODE(run)                     \
    for (int m = 0; m < EM_ORDERED; m++)    \
        for (uint32_t w = 1; w <= 2; w++) { \
            run(&em_modes[m], w);           \
        }

/* ---- a command that cannot be handed over */

static void refused(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_result result;
    uint64_t u = 1;
    begin(&b, m, workers, 2);
    fake_refuse("second", RONDO_ERR_MEMORY);
    cr_assert_eq(rondo_replay_and_wait(b.x, NULL, -1, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "second");
    cr_assert_str_eq(result.message, "fakeEnqueue: refused");
    cr_assert_eq(rondo_replay_and_wait(b.x, NULL, -1, &result), RONDO_ERR_CANCELLED);
    cr_assert_eq(rondo_exec_reset(b.x), RONDO_OK);
    cr_assert_eq(rondo_replay_and_wait(b.x, NULL, -1, &result), RONDO_OK, "%s", result.message);
    for (uint64_t i = 0; i < 3; i++) /* nothing of what was refused has run */
        kit_do(KIT_MIX, &u, NULL, i, 0, 1);
    kit_expect_all(b.u, N, u, m->name);
    end(&b);
}

Test(device_failure, a_command_is_refused) { EVERY_MODE(refused) }

/* ---- a device that is lost */

static void lost(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_result result;
    rondo_event event[3];
    begin(&b, m, workers, 4);
    cr_assert_eq(rondo_replay_and_wait(b.x, NULL, -1, &result), RONDO_OK);
    fake_hold(1);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(rondo_replay(b.x, NULL, &event[i]), RONDO_OK);
    fake_lose(0);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rondo_event_wait(event[i], -1), RONDO_OK);
        cr_assert_eq(rondo_event_result(event[i], &result), RONDO_OK);
        cr_assert_eq(result.status, RONDO_ERR_DEVICE_LOST, "%s: replay %d: status %d: %s", m->name,
                     i, result.status, result.message);
        cr_assert_str_eq(result.node, "first");
        cr_assert_not_null(strstr(result.message, "the segment of 'first' and "), "%s",
                           result.message);
    }
    cr_assert_eq(rondo_exec_reset(b.x), RONDO_OK);
    cr_assert_eq(rondo_replay_and_wait(b.x, NULL, -1, &result), RONDO_ERR_DEVICE_LOST);
    cr_assert_not_null(strstr(result.message, "is lost"), "%s", result.message);
    end(&b);
}

Test(device_failure, a_device_is_lost) { EVERY_MODE(lost) }

static int count_task(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((_Atomic(uint64_t) *)rondo_task_context(self), 1);
    return 0;
}

/* Another exec of the device fails too, at once; one of CPUs goes on. */
static void lost_for_others(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    _Atomic(uint64_t) count = 0;
    rondo_subgraph g;
    rondo_exec cpu, gpu;
    rondo_result result;
    rondo_instantiate_options options = em_options(m, 4);
    begin(&b, m, workers, 4);
    cr_assert_eq(rondo_instantiate(b.g, &options, &gpu), RONDO_OK);
    cr_assert_eq(rondo_subgraph_create(b.rt, &(rondo_subgraph_desc){ .name = "cpu" }, &g),
                 RONDO_OK);
    rondo_record_task(
        g, &(rondo_task_desc){
               .name = "count", .fn = count_task, .context = &count, .flags = RONDO_NO_ACCESS });
    cr_assert_eq(rondo_instantiate(g, &options, &cpu), RONDO_OK, "%s", rondo_error_message());
    fake_lose(0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rondo_replay_and_wait(i ? gpu : b.x, NULL, -1, &result),
                     RONDO_ERR_DEVICE_LOST);
        cr_assert_eq(rondo_replay_and_wait(cpu, NULL, -1, &result), RONDO_OK);
    }
    cr_assert_eq(atomic_load(&count), 2);
    rondo_exec_destroy(cpu);
    rondo_exec_destroy(gpu);
    rondo_subgraph_destroy(g);
    end(&b);
}

Test(device_failure, others_of_a_lost_device) { EVERY_MODE(lost_for_others) }

/* ---- what is under way is waited for */

static int fail_task(rondo_task *self, const void *arg)
{
    (void)arg;
    return rondo_task_fail(self, "on purpose");
}

/* A host task fails while a segment is on the device: the replay ends after the segment. */
static void failed_beside(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_result result;
    rondo_exec x;
    rondo_event event;
    uint64_t u = 1;
    rondo_instantiate_options options = em_options(m, 2);
    const uint64_t before = fake_submissions();
    if (m->mode == RONDO_INTERPRETED) /* where segments are waited for one by one */
        return;
    begin(&b, m, workers, 2);
    rondo_record_task(
        b.g, &(rondo_task_desc){
                 .name = "fails", .fn = fail_task, .flags = RONDO_NO_ACCESS, .priority = -1 });
    cr_assert_eq(rondo_instantiate(b.g, &options, &x), RONDO_OK, "%s", rondo_error_message());
    fake_hold(1);
    cr_assert_eq(rondo_replay(x, NULL, &event), RONDO_OK);
    cr_assert_eq(rondo_event_wait(event, 20000000), RONDO_ERR_AGAIN);
    fake_hold(0);
    cr_assert_eq(rondo_event_wait(event, -1), RONDO_OK);
    cr_assert_eq(rondo_event_result(event, &result), RONDO_OK);
    cr_assert_eq(result.status, RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "fails");
    cr_assert_eq(fake_submissions() - before, 1, "%s", m->name);
    for (uint64_t i = 0; i < 3; i++)
        kit_do(KIT_MIX, &u, NULL, i, 0, 1);
    kit_expect_all(b.u, N, u, m->name);
    rondo_exec_destroy(x);
    end(&b);
}

Test(device_failure, beside_a_segment) { EVERY_MODE(failed_beside) }

/* Past its deadline a replay hands nothing over, and waits for what it has handed over. */
static void late(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_result result;
    const uint64_t before = fake_submissions();
    begin(&b, m, workers, 2);
    cr_assert_eq(rondo_replay_and_wait(b.x, &(rondo_replay_args){ .deadline_ns = et_now_ns() - 1 },
                                       -1, &result),
                 RONDO_ERR_DEADLINE);
    cr_assert_eq(fake_submissions(), before);
    cr_assert_eq(rondo_exec_reset(b.x), RONDO_OK);
    cr_assert_eq(
        rondo_replay_and_wait(b.x, &(rondo_replay_args){ .deadline_ns = et_now_ns() + 60000000000 },
                              -1, &result),
        RONDO_OK, "%s", result.message);
    cr_assert_eq(fake_submissions(), before + 1);
    end(&b);
}

Test(device_failure, a_deadline) { EVERY_MODE(late) }

/* Destroy returns while segments are on the device, and frees them when they have ended. */
static void destroyed(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_exec x;
    rondo_event event;
    uint64_t u = 1;
    rondo_instantiate_options options = em_options(m, 4);
    begin(&b, m, workers, 4);
    cr_assert_eq(rondo_instantiate(b.g, &options, &x), RONDO_OK);
    fake_hold(m->mode != RONDO_INTERPRETED);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rondo_replay(x, NULL, &event), RONDO_OK);
        for (uint64_t k = 0; k < 3; k++)
            kit_do(KIT_MIX, &u, NULL, k, 0, 1);
    }
    cr_assert_eq(rondo_exec_destroy(x), RONDO_OK);
    fake_hold(0);
    cr_assert_eq(rondo_event_wait(event, -1), RONDO_OK);
    cr_assert_eq(rondo_runtime_drain(b.rt), RONDO_OK);
    kit_expect_all(b.u, N, u, m->name);
    end(&b);
}

Test(device_failure, destroyed_with_replays_in_flight) { EVERY_MODE(destroyed) }

/* ---- launches */

static _Atomic(uint64_t) launched;

static void run_launched(void *context) { atomic_fetch_add((_Atomic(uint64_t) *)context, 1); }

static int launch(rondo_task *self, const void *arg)
{
    uint64_t value;
    (void)arg;
    memcpy(&value, rondo_task_param(self, 0), sizeof value);
    if (self->processor != RONDO_GPU(1) || !self->stream || !rondo_task_write(self, 0))
        return rondo_task_fail(self, "the view is not that of a launch");
    if (value == 13)
        return rondo_task_fail(self, "thirteen");
    fake_enqueue(self->stream, run_launched, &launched);
    return 0;
}

static void launches(const struct em_mode *m, uint32_t workers)
{
    struct bed b;
    rondo_param p;
    rondo_exec x;
    rondo_result result;
    rondo_subgraph g;
    uint64_t value = 1;
    rondo_instantiate_options options = em_options(m, 2);
    begin(&b, m, workers, 2);
    cr_assert_eq(rondo_subgraph_create(b.rt, &(rondo_subgraph_desc){ .name = "g" }, &g), RONDO_OK);
    p = rondo_subgraph_param(g, "value", sizeof value, NULL);
    cr_assert(rondo_record_launch(g, &(rondo_task_desc){ .name = "launch",
                                                         .tag = 77,
                                                         .fn = launch,
                                                         .on = RONDO_GPU(1),
                                                         RONDO_ACCESSES(rondo_read_write(
                                                             kit_slot(g, "u", b.u), rondo_whole())),
                                                         RONDO_PARAMS(p) })
                  .id,
              "%s", rondo_error_message());
    cr_assert_eq(rondo_instantiate(g, &options, &x), RONDO_OK, "%s", rondo_error_message());
    const rondo_replay_args args = { .values = &(rondo_value){ .param = p, .value = &value },
                                     .value_count = 1 };
    atomic_store(&launched, 0);
    cr_assert_eq(rondo_replay_and_wait(x, &args, -1, &result), RONDO_OK, "%s", result.message);
    cr_assert_eq(atomic_load(&launched), 1);
    value = 13;
    cr_assert_eq(rondo_replay_and_wait(x, &args, -1, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "launch");
    cr_assert_str_eq(result.message, "thirteen");
    cr_assert_eq(result.tag, 77);
    cr_assert_eq(rondo_exec_reset(x), RONDO_OK);
    value = 2;
    cr_assert_eq(rondo_replay_and_wait(x, &args, -1, &result), RONDO_OK, "%s", result.message);
    cr_assert_eq(atomic_load(&launched), 2);
    rondo_exec_destroy(x);
    rondo_subgraph_destroy(g);
    end(&b);
}

Test(device_failure, launches){ EVERY_MODE(launches) }

/* ---- kernels that cannot be made */

Test(device_failure, there_is_no_such_kernel)
{
    rondo_runtime rt = kit_open(KIT_FAKE, 1, 1);
    rondo_buffer u = kit_buffer(rt, "u", N, 1, RONDO_HOST);
    rondo_subgraph g;
    rondo_exec x;
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &g), RONDO_OK);
    rondo_record_kernel(
        g, &(rondo_kernel_desc){ .name = "mistaken",
                                 .format = RONDO_OPENCL_C,
                                 .image = "none",
                                 .image_bytes = 4,
                                 .entry = "absent",
                                 RONDO_KERNEL_ARGS(rondo_arg_access(0)),
                                 .dimensions = 1,
                                 .global = { N },
                                 RONDO_ACCESSES(rondo_read(kit_slot(g, "u", u), rondo_whole())) });
    cr_assert_eq(rondo_instantiate(g, NULL, &x), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(),
                     "node 'mistaken': fakeCreateKernel: there is no 'absent'");
    rondo_subgraph_destroy(g);
    rondo_buffer_destroy(u);
    cr_assert_null(et_close_clean(rt));
    cr_assert_eq(fake_allocated(), 0);
}
