/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of buffers' instances where copies fail, may not be waited for, or are under way at
 * the end; what is out of date, overwritten; and recordings of device buffers as files. */
#include "tests/device/keeper_kit.h"

/* ---- copies that fail */

Test(keeper, a_replay_whose_copies_fail_fails)
{
    static const rondo_instantiate_options ways[] = {
        { .order = RONDO_SERIAL },
        { .mode = RONDO_INTERPRETED },
        { .schedule = RONDO_DATAFLOW },
    };
    static const rondo_status statuses[] = { RONDO_ERR_DEVICE_LOST, RONDO_ERR_MEMORY };
    for (size_t w = 0; w < 6; w++) {
        rondo_runtime rt = open_two();
        int64_t host[N], *gpu;
        rondo_buffer b = wrap(rt, "field", host, N);
        rondo_exec x = exec_of(rt, b, bump, NULL, &ways[w % 3], NULL);
        rondo_result r;
        fill(host, N, 0);
        gpu = on_gpu(b, 1);
        fill(gpu, N, 7);
        OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(1)));
        fake_fail_copy(0, statuses[w / 3]);
        cr_assert_eq(rondo_replay_and_wait(x, NULL, -1, &r),
                     w / 3 ? RONDO_ERR_FAILED : RONDO_ERR_DEVICE_LOST, "%s", r.message);
        cr_assert_str_eq(r.node, "step");
        cr_assert_str_eq(r.message, "buffer 'field' could not be copied from RONDO_GPU(1) to the "
                                    "host: fakeCopy: refused");
        check(host, N, 0, "nothing ran");
        cr_assert_eq(rondo_replay_and_wait(x, NULL, -1, &r),
                     w / 3 ? RONDO_ERR_CANCELLED : RONDO_ERR_DEVICE_LOST, "way %zu: %d %s", w,
                     r.status, r.message);
        OK(rondo_exec_reset(x));
        run(x);
        check(host, N, 8, "the bytes were not lost");
        OK(rondo_exec_destroy(x));
        OK(rondo_buffer_destroy(b));
        close_clean(rt);
    }
}

Test(keeper, copies_that_build_on_a_failed_one_fail_with_it)
{
    rondo_runtime rt = open_two();
    int64_t host[N], other[N];
    rondo_buffer b = wrap(rt, "field", host, N), o = wrap(rt, "other", other, N);
    rondo_exec x = exec_of(rt, b, bump, NULL, NULL, NULL);
    rondo_event first, second, replay, apart;
    rondo_result r;
    fill(host, N, 0);
    fill(other, N, 0);
    fill(on_gpu(b, 0), N, 50);
    OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
    fake_hold_copies(1);
    OK(rondo_buffer_sync(b, RONDO_HOST, &first));
    OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(1), &second)); /* from the host by then */
    OK(rondo_replay(x, NULL, &replay));
    OK(rondo_buffer_sync(o, RONDO_GPU_MEMORY(1), &apart));
    fake_fail_copy(0, RONDO_ERR_FAILED);
    fake_hold_copies(0);
    OK(rondo_event_wait(first, -1));
    OK(rondo_event_wait(second, -1));
    OK(rondo_event_wait(replay, -1));
    OK(rondo_event_wait(apart, -1));
    OK(rondo_event_result(replay, &r));
    cr_assert_eq(r.status, RONDO_ERR_FAILED);
    check(on_gpu(o, 1), N, 0, "another buffer's copy");
    sync_to(b, RONDO_GPU_MEMORY(1));
    check(on_gpu(b, 1), N, 50, "found again where it was");
    OK(rondo_exec_reset(x));
    run(x);
    check(host, N, 51, "and at home");
    fill(on_gpu(b, 0), N, 90);
    OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
    fake_fail_copy(0, RONDO_ERR_DEVICE_LOST);
    {
        void *p = NULL;
        cr_assert_eq(rondo_buffer_map(b, RONDO_READ_WRITE, &p), RONDO_ERR_DEVICE_LOST);
        cr_assert_str_eq(rondo_error_message(),
                         "buffer 'field' could not be copied from RONDO_GPU(0) to the host: "
                         "fakeCopy: refused");
        cr_assert_null(p);
    }
    check(map(b, RONDO_READ), N, 90, "not lost by a map that failed");
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(b));
    OK(rondo_buffer_destroy(o));
    close_clean(rt);
}

/* ---- RONDO_DEVICE_POISON */

static void check_pattern(const int64_t *p, int64_t from, int64_t count, const char *what)
{
    for (int64_t i = from; i < from + count; i++)
        cr_assert_eq((uint64_t)p[i], 0xa5a5a5a5a5a5a5a5u, "%s: element %lld is %lld", what,
                     (long long)i, (long long)p[i]);
}

Test(keeper, what_is_out_of_date_is_overwritten)
{
    rondo_runtime rt;
    int64_t host[2 * N], *gpu, *other;
    rondo_buffer left, right;
    rondo_exec x;
    setenv("RONDO_DEVICE_POISON", "1", 1);
    rt = fake_open(NULL, 2, MB, NULL);
    fill(host, 2 * N, 0);
    left = wrap(rt, "left", host, N);
    right = wrap(rt, "right", host + N / 2, N);
    gpu = on_gpu(left, 0);
    other = on_gpu(left, 1);
    sync_to(left, RONDO_GPU_MEMORY(0));
    sync_to(left, RONDO_GPU_MEMORY(1));
    fill(gpu, N, 50);
    OK(rondo_buffer_touched(left, RONDO_GPU_MEMORY(0)));
    check_pattern(host, 0, N, "on the host");
    check_pattern(other, 0, N, "on the other device");
    check(host + N, N, N, "what nobody touched");
    check(gpu, N, 50, "what is current");
    x = exec_of(rt, right, bump, NULL, NULL, NULL); /* half of it, by way of the other wrap */
    run(x);
    check(host + N / 2, N / 2, 50 + N / 2 + 1, "came home and was changed");
    check_pattern(gpu, N / 2, N / 2, "what the other wrap wrote");
    check(gpu, N / 2, 50, "what is current still");
    check_pattern(host, 0, N / 2, "what stayed away");
    (void)map(left, RONDO_READ_WRITE);
    check_pattern(gpu, 0, N, "what may be written by the map");
    check(host, N / 2, 50, "came home");
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(left));
    OK(rondo_buffer_destroy(right));
    close_clean(rt);
}

/* ---- inside a task */

static int inside(rondo_task *self, const void *arg)
{
    rondo_status *got = rondo_task_context(self);
    const rondo_buffer *b = arg;
    rondo_event e;
    void *p;
    got[0] = rondo_buffer_map(b[0], RONDO_READ, &p);
    got[1] = rondo_buffer_sync(b[0], RONDO_HOST, NULL);
    got[2] = rondo_buffer_map(b[1], RONDO_READ, &p);
    got[3] = rondo_buffer_sync(b[1], RONDO_HOST, NULL);
    got[4] = rondo_buffer_sync(b[0], RONDO_HOST, &e);
    return 0;
}

Test(keeper, a_task_does_not_wait_for_copies)
{
    rondo_runtime rt = open_two();
    int64_t host[2][N] = { { 0 } };
    rondo_buffer b[2] = { wrap(rt, "away", host[0], N), wrap(rt, "home", host[1], N) };
    rondo_status got[5] = { 99, 99, 99, 99, 99 };
    rondo_subgraph g;
    rondo_exec x;
    fill(on_gpu(b[0], 0), N, 1);
    OK(rondo_buffer_touched(b[0], RONDO_GPU_MEMORY(0)));
    OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_record_task(g, &(rondo_task_desc){ .fn = inside,
                                             .context = got,
                                             .arg = b,
                                             .arg_bytes = sizeof b,
                                             .flags = RONDO_NO_ACCESS });
    OK(rondo_instantiate(g, NULL, &x));
    run(x);
    cr_assert_eq(got[0], RONDO_ERR_WOULD_BLOCK);
    cr_assert_eq(got[1], RONDO_ERR_WOULD_BLOCK);
    cr_assert_eq(got[2], RONDO_OK);
    cr_assert_eq(got[3], RONDO_OK);
    cr_assert_eq(got[4], RONDO_OK);
    check(map(b[0], RONDO_READ), N, 1, "home in the end");
    OK(rondo_exec_destroy(x));
    OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 2; i++)
        OK(rondo_buffer_destroy(b[i]));
    close_clean(rt);
}

/* ---- files */

struct text {
    char at[8192];
    size_t used;
};

static void append(void *context, const char *piece)
{
    struct text *t = context;
    size_t n = strlen(piece);
    cr_assert_lt(t->used + n, sizeof t->at);
    memcpy(t->at + t->used, piece, n + 1);
    t->used += n;
}

/* Slots of buffers that have no host memory are slots like others; wraps of the same device memory
 * share bytes in the file too. */
Test(keeper, recordings_of_device_buffers_are_files_too)
{
    rondo_runtime rt = open_two();
    rondo_buffer b[3];
    rondo_subgraph g, again;
    rondo_access access[3];
    int64_t theirs[N];
    static struct text first, second;
    OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "g" }, &g));
    for (int i = 0; i < 3; i++) {
        rondo_buffer_desc d = { .name = "b",
                                .shape = { 8, { N / 2 }, { 0 } },
                                .memory = RONDO_GPU_MEMORY(0) };
        if (i)
            d.device = theirs + i * N / 8;
        OK(rondo_buffer_create(rt, &d, &b[i]));
        access[i] = (rondo_access){
            .slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b[i] }),
            .mode = RONDO_READ,
        };
        cr_assert(access[i].slot.id, "%s", rondo_error_message());
    }
    cr_assert(
        rondo_record_task(
            g, &(rondo_task_desc){ .name = "t", .fn = bump, .accesses = access, .access_count = 3 })
            .id);
    first.used = second.used = 0;
    OK(rondo_subgraph_write_json(g, append, &first));
    cr_assert(strstr(first.at, "\"offset\""), "the wraps are parts of one memory:\n%s", first.at);
    OK(rondo_subgraph_read_json(rt, first.at, first.used, NULL, &again));
    OK(rondo_subgraph_write_json(again, append, &second));
    cr_assert_str_eq(first.at, second.at);
    OK(rondo_subgraph_destroy(g));
    OK(rondo_subgraph_destroy(again));
    for (int i = 0; i < 3; i++)
        OK(rondo_buffer_destroy(b[i]));
    close_clean(rt);
}

/* ---- the end */

Test(keeper, closes_with_instances_and_copies_under_way)
{
    for (int round = 0; round < 20; round++) {
        rondo_runtime rt = open_two();
        int64_t *host = malloc(N * sizeof *host);
        rondo_buffer b = wrap(rt, "u", host, N);
        rondo_event e;
        fill(host, N, 0);
        OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(0), &e));
        OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(1), &e));
        if (round % 2)
            OK(rondo_buffer_destroy(b));
        OK(rondo_runtime_close(rt));
        cr_assert_eq(fake_allocated(), 0);
        OK(rondo_event_wait(e, 0));
        free(host);
    }
}
