/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_SHUFFLE: nodes run in random orders that the edges allow, the same for the same seed. */
#include "tests/engine/engine_check.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 8, REPLAYS = 100 };

/* The order of the nodes in each replay, as the only lane ran them. */
struct log {
    uint8_t at[REPLAYS][NODES];
    uint32_t count[REPLAYS];
};

static int note(rondo_task *self, const void *arg)
{
    struct log *log = rondo_task_context(self);
    log->at[self->replay][log->count[self->replay]++] = *(const uint8_t *)arg;
    return 0;
}

/* Nodes 0, 2, 4 ... and 1, 3, 5 ... are two chains. */
static void run(const char *seed, uint32_t mode, struct log *log)
{
    rondo_runtime rt = et_runtime(1);
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node node[NODES];
    memset(log, 0, sizeof *log);
    if (seed)
        setenv("RONDO_SHUFFLE", seed, 1);
    else
        unsetenv("RONDO_SHUFFLE");
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (uint8_t i = 0; i < NODES; i++) {
        node[i] = rondo_record_task(g, &(rondo_task_desc){ .fn = note,
                                                           RONDO_ARG(i),
                                                           .context = log,
                                                           .after = i > 1 ? &node[i - 2] : NULL,
                                                           .after_count = i > 1,
                                                           .flags = RONDO_NO_ACCESS });
        ET_HANDLE(node[i]);
    }
    ET_OK(rondo_instantiate(g, &(rondo_instantiate_options){ .mode = mode }, &exec));
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = REPLAYS }, -1, NULL));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

static int is_allowed(const uint8_t *order)
{
    int next[2] = { 0, 1 };
    for (int i = 0; i < NODES; i++) {
        if (order[i] != next[order[i] % 2])
            return 0;
        next[order[i] % 2] += 2;
    }
    return 1;
}

static int different_orders(const struct log *log)
{
    int different = 0;
    for (int r = 0; r < REPLAYS; r++) {
        int seen = 0;
        for (int q = 0; q < r; q++)
            seen |= !memcmp(log->at[r], log->at[q], NODES);
        different += !seen;
    }
    return different;
}

Test(shuffle, random_orders_by_seed, .timeout = 60)
{
    static struct log log[5];
    static const char *const seeds[] = { "7", "7", "8", "-9000000000000000000", NULL };
    for (int i = 0; i < 5; i++) {
        run(seeds[i], i == 1 ? RONDO_COMPILED : RONDO_AUTO, &log[i]);
        for (int r = 0; r < REPLAYS; r++)
            cr_assert(log[i].count[r] == NODES && is_allowed(log[i].at[r]), "seed %s, replay %d",
                      seeds[i], r);
    }
    /* Of 70 orders that there are, a hundred draws meet about 53. */
    for (int i = 0; i < 4; i++)
        cr_assert(different_orders(&log[i]) > 30, "%d orders", different_orders(&log[i]));
    cr_assert_eq(different_orders(&log[4]), 1);
    cr_assert(!memcmp(&log[0], &log[1], sizeof log[0]));
    cr_assert(memcmp(&log[0], &log[2], sizeof log[0]) != 0);
}

static void gather(void *context, const char *text)
{
    char *page = context;
    snprintf(page + strlen(page), 8192 - strlen(page), "%s", text);
}

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

Test(shuffle, says_so, .timeout = 60)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node node;
    rondo_node_info info;
    char page[8192] = "";
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    node = rondo_record_task(g, &(rondo_task_desc){ .fn = nothing, .flags = RONDO_NO_ACCESS });
    ET_HANDLE(node);
    setenv("RONDO_SHUFFLE", "often", 1);
    ET_IS(rondo_instantiate(g, NULL, &exec), RONDO_ERR_INVALID);
    ET_SAYS("RONDO_SHUFFLE is 'often'");
    setenv("RONDO_SHUFFLE", "12", 1);
    ET_OK(rondo_instantiate(g, &(rondo_instantiate_options){ .mode = RONDO_COMPILED }, &exec));
    ET_OK(rondo_exec_set_mode(exec, RONDO_COMPILED));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    ET_OK(rondo_exec_node_info(exec, node, &info));
    cr_assert(info.interpreted);
    ET_OK(rondo_exec_describe(exec, gather, page));
    cr_assert(strstr(page, "order of nodes: random, RONDO_SHUFFLE=12"), "%s", page);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}
