/* SPDX-License-Identifier: BSD-3-Clause */
/* A group with one member that stops its calls: the others count what did run, so that their rings
 * go on where it stopped. */
#include "tests/engine/engine_check.h"

/* Not so many calls that each buffer would be visited equally often whatever the order. */
enum { RING = 5, CALLS = 42 };

static int stop(rondo_task *self, const void *arg)
{
    (void)arg;
    rondo_task_stop(self);
    return 0;
}

/* Counts the visits of each buffer of the ring. */
static int visit(rondo_task *self, const void *arg)
{
    uint64_t *visits = rondo_task_write(self, 0);
    (void)arg;
    ++*visits;
    return 0;
}

static void record(rondo_subgraph g, const rondo_buffer *ring, int stops)
{
    rondo_slot slot =
        rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = ring, .ring_count = RING });
    rondo_access access = rondo_access_of(slot, RONDO_READ_WRITE, rondo_whole());
    ET_HANDLE(slot);
    if (stops)
        ET_HANDLE(
            rondo_record_task(g, &(rondo_task_desc){ .name = "stop",
                                                     .fn = stop,
                                                     .flags = RONDO_NO_ACCESS | RONDO_MAY_STOP,
                                                     .stop_lag = 1 }));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .name = "visit", .fn = visit, .accesses = &access, .access_count = 1 }));
}

/* The stopping member runs two replays of the six asked for, the other one its one. */
static void calls(uint32_t mode, uint32_t order)
{
    rondo_runtime rt = et_runtime(2);
    rondo_buffer ring[RING];
    rondo_subgraph g[2];
    rondo_exec exec[2];
    uint64_t *visits, expected = 0;
    for (int i = 0; i < RING; i++)
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .shape = { .elem_bytes = 8, .extent = { 1 } } }, &ring[i]));
    for (int m = 0; m < 2; m++) {
        ET_OK(rondo_subgraph_create(rt, NULL, &g[m]));
        record(g[m], ring, m);
    }
    ET_OK(rondo_instantiate_group(
        g, 2, &(rondo_instantiate_options){ .mode = mode, .order = order }, exec));
    for (int i = 0; i < CALLS; i++) {
        ET_OK(rondo_replay(exec[1], &(rondo_replay_args){ .count = 6 }, NULL));
        ET_OK(rondo_replay(exec[0], NULL, NULL));
    }
    ET_OK(rondo_exec_wait(exec[0], NULL));
    for (int i = 0; i < RING; i++) {
        ET_OK(rondo_buffer_map(ring[i], RONDO_READ, (void **)&visits));
        expected = (3 * CALLS + RING - 1 - (uint64_t)i) / RING;
        cr_assert_eq(*visits, expected, "mode %u, order %u: buffer %d was visited %llu times", mode,
                     order, i, (unsigned long long)*visits);
        ET_OK(rondo_buffer_unmap(ring[i]));
        ET_OK(rondo_buffer_destroy(ring[i]));
    }
    for (int m = 0; m < 2; m++) {
        ET_OK(rondo_exec_destroy(exec[m]));
        ET_OK(rondo_subgraph_destroy(g[m]));
    }
    ET_CLOSE(rt);
}

Test(group_stop, rings_go_on_where_calls_were_stopped)
{
    for (uint32_t order = RONDO_SERIAL; order <= RONDO_PIPELINED; order++) {
        calls(RONDO_COMPILED, order);
        calls(RONDO_INTERPRETED, order);
    }
}
