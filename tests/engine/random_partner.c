/* SPDX-License-Identifier: BSD-3-Clause */
/* The other exec of a program that has two: in each replay its task runs between the signal that
 * the first one gives it and the wait of the first one for its answer. */
#include "tests/engine/random_program.h"

#include <stdlib.h>

struct rg_partner {
    struct rg_run *run;
    rondo_exec exec;
    uint32_t from; /* the node whose stamp it reads, or the number of nodes */
};

struct rg_cell *rg_partner_cell(struct rg_run *run, uint64_t replay)
{
    return &run->answer[replay % RG_CELLS];
}

uint32_t rg_partner_from(const struct rg_program *p, uint32_t signal)
{
    const struct rg_node *n = &p->node[p->record[signal].first_node];
    for (uint32_t k = 0; k < n->hand_count; k++) {
        const struct rg_pred *pred = &p->pred[n->pred_first + k];
        if (pred->distance == 0 && rg_stamps(&p->record[p->node[pred->node].record]))
            return pred->node;
    }
    return p->node_count;
}

void rg_partner_answer(struct rg_run *run, uint32_t from, uint64_t replay)
{
    uint64_t value = replay;
    if (from < run->program->node_count) {
        const struct rg_cell *cell = &run->cell[(size_t)from * RG_CELLS + replay % RG_CELLS];
        value = cell->replay == replay + 1 ? cell->value : 0;
    }
    *rg_partner_cell(run, replay) =
        (struct rg_cell){ .replay = replay + 1, .value = rg_mix(value + 77) };
}

static int answer(rondo_task *self, const void *arg)
{
    const struct rg_partner *t = *(struct rg_partner *const *)arg;
    rg_partner_answer(t->run, t->from, self->replay);
    return 0;
}

static uint32_t record_of(const struct rg_program *p, enum rg_kind kind)
{
    uint32_t i = 0;
    while (i < p->record_count && !(p->record[i].kind == kind && p->record[i].partner))
        i++;
    return i;
}

static rondo_status record(struct rg_run *run, rondo_subgraph g)
{
    const struct rg_program *p = run->program;
    const struct rg_record *s = &p->record[record_of(p, RG_SIGNAL)];
    const struct rg_record *w = &p->record[record_of(p, RG_AWAIT)];
    rondo_node node[3];
    node[0] = rondo_record_wait(g, &(rondo_sync_desc){ .counter = run->counter[s->counter],
                                                       .first = s->first,
                                                       .step = s->step });
    node[1] = rondo_record_task(g, &(rondo_task_desc){ .name = "answer",
                                                       .fn = answer,
                                                       .arg = &run->partner,
                                                       .arg_bytes = sizeof run->partner,
                                                       .after = &node[0],
                                                       .after_count = 1,
                                                       .flags = RONDO_NO_ACCESS });
    node[2] = rondo_record_signal(g, &(rondo_sync_desc){ .counter = run->counter[w->counter],
                                                         .first = w->first,
                                                         .step = w->step,
                                                         .after = &node[1],
                                                         .after_count = 1 });
    if (rondo_subgraph_status(g) == RONDO_OK)
        (void)rondo_record_edge(g, node[2], node[2], 1);
    return rondo_subgraph_status(g);
}

int rg_partner_open(struct rg_run *run, rondo_runtime runtime)
{
    const struct rg_program *p = run->program;
    const uint64_t draw = rg_mix(p->seed + 5);
    rondo_instantiate_options o = { .mode = draw % 3 ? RONDO_AUTO : RONDO_INTERPRETED,
                                    .order = draw >> 8 & 1 ? RONDO_PIPELINED : RONDO_SERIAL,
                                    .window = 64 };
    rondo_subgraph g = { 0 };
    if (record_of(p, RG_SIGNAL) == p->record_count)
        return 0;
    run->partner = calloc(1, sizeof *run->partner);
    if (!run->partner)
        abort();
    run->partner->run = run;
    run->partner->from = rg_partner_from(p, record_of(p, RG_SIGNAL));
    if (rondo_subgraph_create(runtime, NULL, &g) || record(run, g) ||
        rondo_instantiate(g, &o, &run->partner->exec))
        rg_run_wrong(run, "partner: %s", rondo_error_message());
    (void)rondo_subgraph_destroy(g);
    return atomic_load(&run->failed);
}

void rg_partner_replay(struct rg_run *run, uint64_t count)
{
    rondo_replay_args args = { .count = count };
    if (run->partner && rondo_replay(run->partner->exec, &args, NULL) != RONDO_OK)
        rg_run_wrong(run, "partner: replay: %s", rondo_error_message());
}

void rg_partner_close(struct rg_run *run)
{
    if (!run->partner)
        return;
    if (rondo_exec_wait(run->partner->exec, NULL) != RONDO_OK)
        rg_run_wrong(run, "partner: wait: %s", rondo_error_message());
    (void)rondo_exec_destroy(run->partner->exec);
    free(run->partner);
    run->partner = NULL;
}
