/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of buffers' instances: what is current where, as told in the order of submission. */
#include "tests/device/keeper_kit.h"

/* ---- instances, one thread */

Test(keeper, syncs_maps_and_addresses)
{
    rondo_runtime rt = open_two();
    int64_t host[N], *gpu;
    rondo_buffer b = wrap(rt, "u", host, N);
    rondo_event e = { 7, 7 };
    rondo_runtime_statistics s;
    uint64_t before;
    void *p;
    fill(host, N, 100);
    OK(rondo_buffer_address(b, RONDO_HOST, &p));
    cr_assert_eq(p, host);
    OK(rondo_buffer_sync(b, RONDO_HOST, &e));
    cr_assert(!e.source && !e.count);
    OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(1), &e));
    cr_assert(e.source);
    OK(rondo_event_wait(e, -1));
    gpu = on_gpu(b, 1);
    check(gpu, N, 100, "on the device");
    OK(rondo_runtime_stats(rt, &s));
    cr_assert_eq(s.instances, 1);
    cr_assert_eq(s.device_bytes, sizeof host);
    OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(1), &e));
    cr_assert(!e.source, "it is current");
    fill(gpu, N, 500);
    OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(1)));
    check(map(b, RONDO_READ), N, 500, "mapped");
    before = fake_copied();
    check(map(b, RONDO_READ), N, 500, "mapped again");
    cr_assert_eq(fake_copied(), before, "reading leaves both current");
    fill(map(b, RONDO_WRITE), N, 900);
    sync_to(b, RONDO_GPU_MEMORY(1));
    check(gpu, N, 900, "synced after the map");
    fill(host, N, 1000);
    OK(rondo_buffer_touched(b, RONDO_PINNED));
    sync_to(b, RONDO_GPU_MEMORY(0)); /* not from the other device, which is out of date */
    check(on_gpu(b, 0), N, 1000, "synced after host memory was touched");
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

Test(keeper, from_device_to_device)
{
    for (int peers = 0; peers < 2; peers++) {
        rondo_runtime rt = open_two();
        int64_t host[N] = { 0 }, *gpu;
        rondo_buffer b = wrap(rt, "u", host, N);
        uint64_t before;
        fake_peers(peers);
        gpu = on_gpu(b, 0);
        fill(gpu, N, 40);
        OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
        before = fake_copied();
        sync_to(b, RONDO_GPU_MEMORY(1));
        check(on_gpu(b, 1), N, 40, "on the other device");
        cr_assert_eq(fake_copied() - before, sizeof host * (peers ? 1 : 2));
        cr_assert_eq(host[1], peers ? 0 : 41, "by the host only where there is no other way");
        OK(rondo_buffer_destroy(b));
        close_clean(rt);
    }
}

Test(keeper, buffers_of_device_memory)
{
    rondo_runtime rt = open_two();
    rondo_shape shape = { 8, { N }, { 0 } };
    rondo_buffer own, wrapped, pinned;
    int64_t theirs[N];
    _Atomic int64_t total = 0;
    rondo_exec x;
    void *p;
    OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "own", .shape = shape, .memory = RONDO_GPU_MEMORY(1) },
        &own));
    for (int i = 0; i < N; i++)
        cr_assert_eq(on_gpu(own, 1)[i], 0, "zeroed");
    fill(on_gpu(own, 1), N, 3);
    OK(rondo_buffer_touched(own, RONDO_GPU_MEMORY(1)));
    x = exec_of(rt, own, sum, &total, NULL, NULL); /* makes its host instance */
    run(x);
    cr_assert_eq(total, sum_from(N, 3));
    OK(rondo_exec_destroy(x));
    fill(theirs, N, 70);
    OK(rondo_buffer_create(
        rt,
        &(rondo_buffer_desc){
            .name = "theirs", .shape = shape, .memory = RONDO_GPU_MEMORY(0), .device = theirs },
        &wrapped));
    OK(rondo_buffer_address(wrapped, RONDO_GPU_MEMORY(0), &p));
    cr_assert_eq(p, theirs);
    check(map(wrapped, RONDO_READ), N, 70, "wrapped device memory");
    fill(map(wrapped, RONDO_WRITE), N, 80);
    sync_to(wrapped, RONDO_GPU_MEMORY(0));
    check(theirs, N, 80, "written through");
    OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "pinned", .shape = shape, .memory = RONDO_PINNED },
        &pinned));
    cr_assert_eq(map(pinned, RONDO_READ)[N - 1], 0, "zeroed");
    OK(rondo_buffer_destroy(own));
    OK(rondo_buffer_destroy(wrapped));
    OK(rondo_buffer_destroy(pinned));
    close_clean(rt);
}

#define REFUSED(call, text)                                   \
    do {                                                      \
        cr_assert_eq((call), RONDO_ERR_INVALID, "%s", #call); \
        cr_assert_str_eq(rondo_error_message(), text);        \
    } while (0)

Test(keeper, refuses_what_is_not_there)
{
    rondo_runtime rt = open_two();
    rondo_shape shape = { 8, { N }, { 0 } };
    int64_t host[N];
    rondo_buffer b = wrap(rt, "u", host, N), none = { 5 };
    rondo_event e;
    void *p;
    REFUSED(rondo_buffer_sync(b, RONDO_GPU_MEMORY(2), &e),
            "buffer 'u': sync: RONDO_GPU_MEMORY(2), and the runtime has 2 devices");
    REFUSED(rondo_buffer_sync(b, 0, &e),
            "buffer 'u': sync: memory is 0x0, which is neither RONDO_HOST nor a RONDO_GPU_MEMORY");
    REFUSED(rondo_buffer_touched(b, RONDO_GPU_MEMORY(1)),
            "buffer 'u': touched: it has no instance on RONDO_GPU(1)");
    REFUSED(rondo_buffer_address(b, RONDO_CPU(0), &p), "buffer 'u': address: memory is 0x1000000, "
                                                       "which is neither RONDO_HOST nor a "
                                                       "RONDO_GPU_MEMORY");
    REFUSED(rondo_buffer_address(b, RONDO_HOST, NULL), "rondo_buffer_address: `address` is NULL");
    rondo_buffer_desc d = { .name = "v", .shape = shape, .host = host, .device = host };
    REFUSED(rondo_buffer_create(rt, &d, &none),
            "buffer 'v': `host` and `device` are both given: it wraps the one or the other");
    d.device = NULL;
    d.memory = RONDO_GPU_MEMORY(0);
    REFUSED(rondo_buffer_create(rt, &d, &none), "buffer 'v': `host` is given, and memory is a "
                                                "RONDO_GPU_MEMORY: what is wrapped is in "
                                                "RONDO_HOST");
    d = (rondo_buffer_desc){ .name = "v", .shape = shape, .memory = RONDO_GPU_MEMORY(9) };
    REFUSED(rondo_buffer_create(rt, &d, &none),
            "buffer 'v': memory is RONDO_GPU_MEMORY(9), and the runtime has 2 devices");
    d.memory = 77;
    REFUSED(rondo_buffer_create(rt, &d, &none), "buffer 'v': memory is 0x4d, which is neither "
                                                "RONDO_HOST, RONDO_PINNED nor a RONDO_GPU_MEMORY");
    d.memory = 0;
    d.device = host;
    REFUSED(rondo_buffer_create(rt, &d, &none), "buffer 'v': `device` is given, and memory does "
                                                "not say which of 2 devices is meant");
    d.memory = RONDO_PINNED;
    REFUSED(rondo_buffer_create(rt, &d, &none), "buffer 'v': `device` is given, and memory is "
                                                "RONDO_PINNED instead of a RONDO_GPU_MEMORY");
    d = (rondo_buffer_desc){ .name = "v",
                             .shape = { 8, { MB }, { 0 } },
                             .memory = RONDO_GPU_MEMORY(0) };
    cr_assert_eq(rondo_buffer_create(rt, &d, &none), RONDO_ERR_MEMORY);
    cr_assert_str_eq(rondo_error_message(),
                     "buffer 'v': device 0 (fake 0): 8388608 bytes wanted, 0 of its 1048576 are "
                     "taken: 7340032 are missing");
    cr_assert_eq(none.id, 5);
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

/* ---- execs on the host */

Test(keeper, an_exec_gets_bytes_home_and_drops_the_others)
{
    rondo_runtime rt = open_two();
    int64_t host[N], *gpu;
    rondo_buffer b = wrap(rt, "u", host, N);
    rondo_exec x = exec_of(rt, b, bump, NULL, NULL, NULL);
    uint64_t before;
    fill(host, N, 0);
    run(x);
    gpu = on_gpu(b, 0);
    for (int64_t i = 1; i <= 20; i++) {
        fill(gpu, N, 1000 * i);
        OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
        run(x);
        run(x);
        check(host, N, 1000 * i + 2, "on the host");
        sync_to(b, RONDO_GPU_MEMORY(0));
        check(gpu, N, 1000 * i + 2, "back on the device");
        before = fake_copied();
        run(x); /* what the device has is out of date by this */
        cr_assert_eq(fake_copied(), before);
        sync_to(b, RONDO_GPU_MEMORY(0));
        check(gpu, N, 1000 * i + 3, "on the device once more");
    }
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

/* Replays that were submitted while copies are under way, on every track, begin behind them. */
Test(keeper, replays_wait_for_copies_under_way)
{
    static const rondo_instantiate_options ways[] = {
        { .order = RONDO_SERIAL, .window = 8 },     { .order = RONDO_PIPELINED, .window = 8 },
        { .mode = RONDO_INTERPRETED, .window = 8 }, { .schedule = RONDO_DATAFLOW, .window = 8 },
        { .order = RONDO_CONCURRENT, .tracks = 4 },
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        rondo_runtime rt = open_two();
        int64_t host[N], *gpu;
        rondo_buffer b = wrap(rt, "u", host, N);
        _Atomic int64_t total = 0;
        rondo_exec x = exec_of(rt, b, sum, &total, &ways[w], NULL);
        rondo_event e[4], many, home;
        fill(host, N, 0);
        gpu = on_gpu(b, 0);
        fill(gpu, N, 5);
        OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
        fake_hold_copies(1);
        for (int i = 0; i < 4; i++)
            OK(rondo_replay(x, NULL, &e[i]));
        OK(rondo_replay(x, &(rondo_replay_args){ .count = 9 }, &many));
        OK(rondo_buffer_sync(b, RONDO_HOST, &home));
        cr_assert(home.source, "it is under way");
        for (int i = 0; i < 4; i++)
            cr_assert_eq(rondo_event_wait(e[i], 1000000), RONDO_ERR_AGAIN, "way %zu, %d", w, i);
        cr_assert_eq(rondo_event_wait(home, 0), RONDO_ERR_AGAIN);
        cr_assert_eq(total, 0);
        fake_hold_copies(0);
        for (int i = 0; i < 4; i++) {
            OK(rondo_event_wait(e[i], -1));
            cr_assert_eq(total, sum_from(N, 5), "way %zu", w);
        }
        OK(rondo_event_wait(many, -1));
        OK(rondo_event_wait(home, -1));
        OK(rondo_exec_wait(x, NULL));
        OK(rondo_exec_destroy(x));
        OK(rondo_buffer_destroy(b));
        close_clean(rt);
    }
}

/* The copies that a replay needs are made no earlier than it could begin. */
Test(keeper, copies_follow_the_events_of_the_call)
{
    rondo_runtime rt = open_two();
    int64_t host[N], *gpu;
    rondo_buffer b = wrap(rt, "u", host, N);
    rondo_exec x = exec_of(rt, b, bump, NULL, NULL, NULL);
    rondo_counter counter;
    rondo_event after, e;
    OK(rondo_counter_create(rt, 0, &counter));
    gpu = on_gpu(b, 0);
    for (uint64_t i = 1; i <= 20; i++) {
        OK(rondo_buffer_touched(b, RONDO_GPU_MEMORY(0)));
        OK(rondo_counter_event(counter, i, &after));
        OK(rondo_replay(x, &(rondo_replay_args){ .after = &after, .after_count = 1 }, &e));
        cr_assert_eq(rondo_event_wait(e, 100000), RONDO_ERR_AGAIN);
        fill(gpu, N, (int64_t)(100 * i));
        OK(rondo_counter_raise(counter, i));
        OK(rondo_event_wait(e, -1));
        check(host, N, (int64_t)(100 * i + 1), "written before the event");
    }
    OK(rondo_exec_destroy(x));
    OK(rondo_counter_destroy(counter));
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

/* What replays write waits for a sync submitted before them: it copies what was before them. */
Test(keeper, a_sync_sees_the_replays_before_it_alone)
{
    rondo_runtime rt = open_two();
    int64_t host[N];
    rondo_buffer b = wrap(rt, "u", host, N);
    rondo_exec x = exec_of(rt, b, bump, NULL, NULL, NULL);
    rondo_event synced, e;
    fill(host, N, 0);
    sync_to(b, RONDO_GPU_MEMORY(0)); /* the exec becomes one of its users */
    for (int64_t i = 0; i < 50; i++) {
        OK(rondo_replay(x, NULL, NULL));
        fake_hold_copies(1);
        OK(rondo_buffer_sync(b, RONDO_GPU_MEMORY(0), &synced));
        OK(rondo_replay(x, NULL, &e));
        fake_hold_copies(0);
        OK(rondo_event_wait(synced, -1));
        check(on_gpu(b, 0), N, 2 * i + 1, "on the device");
        OK(rondo_event_wait(e, -1));
        check(host, N, 2 * i + 2, "on the host");
    }
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

Test(keeper, bound_buffers_come_home)
{
    rondo_runtime rt = open_two();
    int64_t host[2][N];
    rondo_buffer b[2] = { wrap(rt, "a", host[0], N), wrap(rt, "b", host[1], N) };
    rondo_buffer gpu;
    rondo_slot slot;
    rondo_exec x;
    rondo_runtime_statistics before, after;
    OK(rondo_buffer_create(rt,
                           &(rondo_buffer_desc){ .name = "c",
                                                 .shape = { 8, { N }, { 0 } },
                                                 .memory = RONDO_GPU_MEMORY(0) },
                           &gpu));
    x = exec_of(rt, (rondo_buffer){ 0 }, bump, NULL, NULL, &slot);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 3; i++) {
            rondo_buffer it = i < 2 ? b[i] : gpu;
            rondo_binding binding = { slot, it };
            fill(on_gpu(it, 0), N, 10 * round);
            OK(rondo_buffer_touched(it, RONDO_GPU_MEMORY(0)));
            for (int k = 0; k < 3; k++)
                OK(rondo_replay_and_wait(
                    x, &(rondo_replay_args){ .bindings = &binding, .binding_count = 1 }, -1, NULL));
            check(map(it, RONDO_READ), N, 10 * round + 3, "bound");
        }
    OK(rondo_runtime_stats(rt, &before));
    for (int k = 0; k < 100; k++) { /* at hand: nothing is allocated any more */
        rondo_binding binding = { slot, b[k % 2] };
        OK(rondo_replay_and_wait(
            x, &(rondo_replay_args){ .bindings = &binding, .binding_count = 1 }, -1, NULL));
    }
    OK(rondo_runtime_stats(rt, &after));
    cr_assert_eq(after.allocations, before.allocations);
    check(host[0], N, 40 + 3 + 50, "bound again");
    OK(rondo_exec_destroy(x));
    for (int i = 0; i < 2; i++)
        OK(rondo_buffer_destroy(b[i]));
    OK(rondo_buffer_destroy(gpu));
    close_clean(rt);
}

/* Nothing is locked or allocated once an exec has its buffers. */
Test(keeper, steady_replays_allocate_nothing)
{
    rondo_runtime rt = open_two();
    int64_t host[N] = { 0 };
    rondo_buffer b = wrap(rt, "u", host, N);
    rondo_exec x = exec_of(rt, b, bump, NULL, NULL, NULL);
    rondo_runtime_statistics before, after;
    sync_to(b, RONDO_GPU_MEMORY(0));
    run(x);
    run(x);
    OK(rondo_runtime_stats(rt, &before));
    for (int i = 0; i < 1000; i++)
        run(x);
    OK(rondo_replay_and_wait(x, &(rondo_replay_args){ .count = 1000 }, -1, NULL));
    OK(rondo_runtime_stats(rt, &after));
    cr_assert_leq(after.allocations - before.allocations, 2, "but for the record of many replays");
    check(host, 1, 2002, "replays");
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(b));
    close_clean(rt);
}

/* ---- wraps that overlap */

Test(keeper, wraps_of_the_same_bytes_are_one_memory)
{
    rondo_runtime rt = open_two();
    int64_t host[2 * N];
    rondo_buffer left = wrap(rt, "left", host, N), mid = wrap(rt, "mid", host + N / 2, N);
    rondo_exec x = exec_of(rt, mid, bump, NULL, NULL, NULL);
    int64_t *gpu = on_gpu(left, 0);
    fill(host, 2 * N, 0);
    fill(gpu, N, 1000);
    OK(rondo_buffer_touched(left, RONDO_GPU_MEMORY(0)));
    run(x); /* needs half of what strayed */
    check(host + N / 2, N / 2, 1000 + N / 2 + 1, "came home, and was changed");
    check(host + N, N / 2, N + 1, "was at home");
    sync_to(left, RONDO_GPU_MEMORY(0));
    check(gpu, N / 2, 1000, "the half that nobody else touched");
    check(gpu + N / 2, N / 2, 1000 + N / 2 + 1, "the half that the other wrote");
    sync_to(mid, RONDO_GPU_MEMORY(1));
    fill(on_gpu(mid, 1), N, -500);
    OK(rondo_buffer_touched(mid, RONDO_GPU_MEMORY(1)));
    check(map(left, RONDO_READ) + N / 2, N / 2, -500, "through the other wrap");
    sync_to(left, RONDO_GPU_MEMORY(0));
    check(gpu + N / 2, N / 2, -500, "and on its device");
    OK(rondo_exec_destroy(x));
    OK(rondo_buffer_destroy(left));
    OK(rondo_buffer_destroy(mid));
    close_clean(rt);
}

/* A column of a field, as another buffer of other elements: what the caller says of it concerns
 * these bytes alone. */
Test(keeper, wraps_of_other_shapes)
{
    enum { W = 8, H = 6 };
    rondo_runtime rt = open_two();
    int64_t host[H][W], *gpu;
    rondo_buffer field, column;
    OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .name = "field", .shape = { 8, { W, H }, { 0 } }, .host = host },
        &field));
    OK(rondo_buffer_create(rt,
                           &(rondo_buffer_desc){ .name = "column",
                                                 .shape = { 4, { 4, H }, { W * 8 } },
                                                 .host = &host[0][3] },
                           &column));
    fill(host[0], W * H, 0);
    gpu = on_gpu(field, 0);
    fill(gpu, W * H, 100);
    OK(rondo_buffer_touched(field, RONDO_GPU_MEMORY(0)));
    for (int y = 0; y < H; y++)
        host[y][3] = host[y][4] = -y;
    OK(rondo_buffer_touched(column, RONDO_HOST)); /* the rest is on the device still */
    (void)map(field, RONDO_READ);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            cr_assert_eq(host[y][x], x == 3 || x == 4 ? -y : 100 + y * W + x, "%d, %d: %lld", x, y,
                         (long long)host[y][x]);
    OK(rondo_buffer_destroy(field));
    OK(rondo_buffer_destroy(column));
    close_clean(rt);
}

Test(keeper, wraps_of_the_same_device_memory)
{
    rondo_runtime rt = open_two();
    rondo_buffer b[2];
    int64_t theirs[N];
    fill(theirs, N, 0);
    for (int i = 0; i < 2; i++)
        OK(rondo_buffer_create(rt,
                               &(rondo_buffer_desc){ .name = i ? "b" : "a",
                                                     .shape = { 8, { N / 2 }, { 0 } },
                                                     .memory = RONDO_GPU_MEMORY(0),
                                                     .device = theirs + i * N / 4 },
                               &b[i]));
    fill(map(b[0], RONDO_READ_WRITE), N / 2, 300); /* alone current on the host now */
    check(map(b[1], RONDO_READ), N / 4, 300 + N / 4, "through the other");
    check(theirs + N / 4, N / 4, 300 + N / 4, "what they share came home");
    check(theirs, N / 4, 0, "and nothing else");
    OK(rondo_buffer_destroy(b[0]));
    OK(rondo_buffer_destroy(b[1]));
    close_clean(rt);
}
