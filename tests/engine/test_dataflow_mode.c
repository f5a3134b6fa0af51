/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataflow exec that still profiles has nothing compiled yet: whatever mode is set meanwhile, its
 * nodes run in their order. */
#include "tests/engine/engine_check.h"

#include <stdatomic.h>

enum { NODES = 40, WIDTH = 4 };

struct stamps {
    uint64_t last[NODES]; /* replay + 1; plain: the edges order who reads and writes it */
    atomic_ullong wrong;
};

struct argument {
    struct stamps *stamps;
    uint32_t number;
};

static int follow(rondo_task *self, const void *arg)
{
    const struct argument *a = arg;
    uint64_t *last = a->stamps->last;
    if (a->number >= WIDTH && last[a->number - WIDTH] != self->replay + 1)
        atomic_fetch_add(&a->stamps->wrong, 1);
    if (a->number && last[a->number - 1] != self->replay + 1)
        atomic_fetch_add(&a->stamps->wrong, 1);
    last[a->number] = self->replay + 1;
    return 0;
}

/* Recorded last first, so that the order of recording says nothing. */
static void record(rondo_subgraph g, struct stamps *stamps)
{
    rondo_node node[NODES];
    for (uint32_t i = NODES; i-- > 0;) {
        struct argument a = { stamps, i };
        node[i] = rondo_record_task(g, &(rondo_task_desc){ .name = "follow",
                                                           .fn = follow,
                                                           .arg = &a,
                                                           .arg_bytes = sizeof a,
                                                           .on = RONDO_CPU(i % 2),
                                                           .flags = RONDO_NO_ACCESS });
        ET_HANDLE(node[i]);
    }
    for (uint32_t i = 1; i < NODES; i++) {
        ET_OK(rondo_record_edge(g, node[i - 1], node[i], 0));
        if (i >= WIDTH) {
            ET_OK(rondo_record_edge(g, node[i - WIDTH], node[i], 0));
            ET_OK(rondo_record_edge(g, node[i], node[i - WIDTH], 1));
        }
        ET_OK(rondo_record_edge(g, node[i], node[i - 1], 1));
    }
}

static void modes(uint32_t order, uint32_t profile)
{
    static const uint32_t mode[] = { RONDO_COMPILED, RONDO_INTERPRETED, RONDO_COMPILED,
                                     RONDO_AUTO };
    struct stamps stamps = { { 0 }, 0 };
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g;
    rondo_exec exec;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    record(g, &stamps);
    ET_OK(rondo_instantiate(g,
                            &(rondo_instantiate_options){
                                .order = order, .schedule = RONDO_DATAFLOW, .profile = profile },
                            &exec));
    for (size_t m = 0; m < sizeof mode / sizeof *mode; m++) {
        ET_OK(rondo_exec_set_mode(exec, mode[m]));
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 5 }, NULL));
        ET_OK(rondo_replay(exec, NULL, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&stamps.wrong), 0, "order %u, profile %u: %llu before their time",
                 order, profile, (unsigned long long)atomic_load(&stamps.wrong));
    cr_assert_eq(stamps.last[NODES - 1], 24);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(dataflow_mode, set_while_profiling)
{
    for (uint32_t profile = 0; profile < 20; profile += 3) {
        modes(RONDO_SERIAL, profile);
        modes(RONDO_PIPELINED, profile);
    }
}
