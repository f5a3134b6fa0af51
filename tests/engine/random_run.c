/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays a random program's script on an exec and compares everything with the oracle. */
#include "tests/engine/oracle.h"
#include "tests/engine/random_program.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct play {
    struct rg_run *run;
    const struct rg_variant *variant;
    const struct rg_expected *expected;
    struct rg_recorded recorded;
    rondo_exec exec;
    int exact;          /* what ran is known to the node, also behind a failure */
    uint64_t replays;   /* submitted */
    rondo_event last;   /* event of the last replay step */
    uint32_t last_step; /* that step, or RG_STEPS */
    rondo_event before; /* an older one */
};

static void check_outcome(struct play *y, uint32_t step, const rondo_result *result,
                          const struct rg_outcome *o)
{
    const struct rg_program *p = y->run->program;
    char name[16], why[64];
    /* A replay behind the first failure may have failed before it was cancelled. */
    if (!y->exact && o->status == RONDO_ERR_CANCELLED && result->status == RONDO_ERR_FAILED)
        return;
    if (result->status != o->status) {
        rg_run_wrong(y->run, "step %u: result %s, oracle %s", step,
                     rondo_status_string(result->status), rondo_status_string(o->status));
        return;
    }
    if (o->status != RONDO_ERR_FAILED)
        return;
    (void)snprintf(name, sizeof name, "n%u", p->node[o->node].record);
    (void)snprintf(why, sizeof why, "node %u in replay %llu", o->node,
                   (unsigned long long)o->replay);
    if (strcmp(result->node, name) != 0 || result->tag != 1000 + p->node[o->node].record)
        rg_run_wrong(y->run, "step %u: node '%s' tag %llu failed, oracle '%s'", step, result->node,
                     (unsigned long long)result->tag, name);
    else if (result->replay != o->replay || result->replays_run != o->replays_run)
        rg_run_wrong(y->run, "step %u: replay %llu, run %llu; oracle %llu, %llu", step,
                     (unsigned long long)result->replay, (unsigned long long)result->replays_run,
                     (unsigned long long)o->replay, (unsigned long long)o->replays_run);
    else if (o->node % 2 == 0 && strcmp(result->message, why) != 0)
        rg_run_wrong(y->run, "step %u: message '%s', oracle '%s'", step, result->message, why);
}

/* The call's arguments; the values lie in `bytes`, one after the other. */
static void gather_args(struct play *y, const struct rg_step *s, rondo_replay_args *args,
                        rondo_value *values, rondo_binding *bindings, unsigned char *bytes)
{
    const struct rg_program *p = y->run->program;
    *args = (rondo_replay_args){ .values = values, .bindings = bindings };
    args->count = s->count == 1 && s->salt % 2 ? 0 : s->count;
    for (uint32_t q = 0; q < p->param_count; q++) {
        if (!(s->given >> q & 1))
            continue;
        size_t stride = s->strided >> q & 1 ? RG_PARAM_BYTES : 0;
        values[args->value_count++] = (rondo_value){ y->recorded.param[q], bytes, stride };
        for (uint64_t k = 0; k < (stride ? s->count : 1); k++, bytes += RG_PARAM_BYTES)
            rg_param_value(p, q, s->salt, k, bytes);
    }
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[i].kind == RG_BOUND) {
            uint32_t which = rg_binding(p, s, i, y->replays);
            bindings[args->binding_count++] =
                (rondo_binding){ y->recorded.slot[i],
                                 y->recorded.buffer[p->slot[i].buffer[which]] };
        }
}

/* Every third call waits for earlier replays' events, which adds nothing: they are earlier. */
static void add_events(struct play *y, const struct rg_step *s, rondo_replay_args *args,
                       rondo_event *after)
{
    if (s->salt % 3 != 0)
        return;
    after[0] = y->before;
    after[1] = (rondo_event){ 0, 0 };
    after[2] = y->last;
    args->after = after;
    args->after_count = 1 + (uint32_t)(s->salt / 3 % 3);
}

static void replay(struct play *y, uint32_t step)
{
    const struct rg_step *s = &y->run->program->step[step];
    rondo_value values[RG_PARAMS];
    rondo_binding bindings[RG_SLOTS];
    rondo_event after[3], event = { 0, 0 };
    rondo_replay_args args;
    size_t size = (size_t)RG_PARAMS * RG_PARAM_BYTES * s->count;
    unsigned char *bytes = malloc(size);
    rondo_result result = { .status = -1 };
    rondo_status status;
    if (!bytes)
        abort();
    gather_args(y, s, &args, values, bindings, bytes);
    add_events(y, s, &args, after);
    if (s->kind == RG_REPLAY_AND_WAIT) {
        status = rondo_replay_and_wait(y->exec, &args, -1, &result);
        if (status != result.status)
            rg_run_wrong(y->run, "step %u: returns %d: %s, result says %d", step, status,
                         rondo_error_message(), result.status);
        check_outcome(y, step, &result, &y->expected->step[step].outcome);
    } else {
        args.flags = s->salt % 7 == 0 && s->count <= y->run->program->window ? RONDO_NO_WAIT : 0;
        while ((status = rondo_replay(y->exec, &args, &event)) == RONDO_ERR_AGAIN && args.flags)
            sched_yield();
        if (status != RONDO_OK)
            rg_run_wrong(y->run, "step %u: replay: %s", step, rondo_error_message());
        y->before = y->last;
        y->last = event;
        y->last_step = step;
    }
    y->replays += s->count;
    memset(bytes, 0xee, size); /* all was copied */
    free(bytes);
}

static void wait_event(struct play *y, uint32_t step)
{
    rondo_result result;
    if (y->last_step == RG_STEPS)
        return;
    if (rondo_event_wait(y->last, -1) != RONDO_OK)
        rg_run_wrong(y->run, "step %u: event: %s", step, rondo_error_message());
    else if (rondo_event_result(y->last, &result) != RONDO_OK)
        rg_run_wrong(y->run, "step %u: result: %s", step, rondo_error_message());
    else
        check_outcome(y, step, &result, &y->expected->step[y->last_step].outcome);
}

static void wait_exec(struct play *y, uint32_t step)
{
    const struct rg_expected_step *e = &y->expected->step[step];
    rondo_result result = { .status = -1 };
    rondo_status status = rondo_exec_wait(y->exec, &result);
    if (status != result.status)
        rg_run_wrong(y->run, "step %u: wait returns %d: %s, result says %d", step, status,
                     rondo_error_message(), result.status);
    if (e->known)
        check_outcome(y, step, &result, &e->outcome);
}

static void perform(struct play *y, uint32_t step)
{
    const struct rg_program *p = y->run->program;
    const struct rg_step *s = &p->step[step];
    unsigned char value[RG_PARAM_BYTES];
    rondo_status status = RONDO_OK;
    switch (s->kind) {
    case RG_REPLAY:
    case RG_REPLAY_AND_WAIT: replay(y, step); break;
    case RG_WAIT: wait_exec(y, step); break;
    case RG_EVENT_WAIT: wait_event(y, step); break;
    case RG_SET_PARAM:
        rg_param_value(p, s->param, s->salt, 0, value);
        status = rondo_exec_set_param(y->exec, y->recorded.param[s->param], value);
        memset(value, 0xee, sizeof value);
        break;
    case RG_SET_MODE:
        if (y->variant->toggles)
            status = rondo_exec_set_mode(y->exec, s->mode);
        break;
    case RG_RESET: status = rondo_exec_reset(y->exec); break;
    }
    if (status != RONDO_OK)
        rg_run_wrong(y->run, "step %u: %s", step, rondo_error_message());
}

/* Up to its first failure a run is the oracle's; nodes of later replays may have run as well. */
static void compare_runs(struct play *y)
{
    const struct rg_program *p = y->run->program;
    for (uint32_t v = 0; v < p->node_count; v++) {
        uint64_t runs = atomic_load(&y->run->runs[v]),
                 expected = atomic_load(&y->expected->run->runs[v]);
        if (!rg_counts(&p->record[p->node[v].record]))
            continue;
        if (y->exact ? runs != expected : runs < expected || runs > y->expected->replays)
            rg_run_wrong(y->run, "node %u ran %llu times, oracle %llu", v, (unsigned long long)runs,
                         (unsigned long long)expected);
    }
}

static int compare(struct play *y)
{
    struct rg_run *run = y->run;
    const struct rg_program *p = run->program;
    const struct rg_run *expected = y->expected->run;
    compare_runs(y);
    if (!y->exact)
        return 0;
    for (uint32_t m = 0; m < p->memory_count; m++)
        for (size_t b = 0; b < p->memory_bytes[m]; b++)
            if (run->memory[m][b] != expected->memory[m][b])
                return rg_run_wrong(run, "memory %u differs from byte %zu on", m, b);
    for (size_t c = 0; c < (size_t)p->node_count * RG_CELLS; c++)
        if (run->cell[c].replay != expected->cell[c].replay ||
            run->cell[c].value != expected->cell[c].value)
            return rg_run_wrong(run, "stamp %zu of node %zu differs", c % RG_CELLS, c / RG_CELLS);
    return 0;
}

static void check_counts(struct play *y)
{
    const struct rg_program *p = y->run->program;
    rondo_exec_counts counts;
    if (rondo_exec_count(y->exec, &counts) != RONDO_OK)
        rg_run_wrong(y->run, "counts: %s", rondo_error_message());
    else if (counts.nodes != p->node_count || counts.window != p->window)
        rg_run_wrong(y->run, "counts: %llu nodes, window %u", (unsigned long long)counts.nodes,
                     counts.window);
}

/* Execs live on without the recording and without the handles of what they hold. */
static void end_early(struct play *y)
{
    const struct rg_program *p = y->run->program;
    (void)rondo_subgraph_destroy(y->recorded.subgraph);
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[i].kind != RG_BOUND)
            for (uint32_t k = 0; k < p->slot[i].count; k++)
                (void)rondo_buffer_destroy(y->recorded.buffer[p->slot[i].buffer[k]]);
}

int rg_play(struct rg_run *run, rondo_runtime runtime, const struct rg_variant *variant,
            const struct rg_expected *expected)
{
    const struct rg_program *p = run->program;
    struct play y = { .run = run, .variant = variant, .expected = expected, .last_step = RG_STEPS };
    y.exact = variant->order != RONDO_PIPELINED || expected->replays_run == expected->replays;
    rondo_instantiate_options options = { .mode = variant->mode,
                                          .order = variant->order,
                                          .schedule = variant->schedule,
                                          .window = p->window,
                                          .on_failure = p->on_failure };
    if (variant->order == RONDO_CONCURRENT)
        options.tracks = p->tracks;
    if (rg_record(run, runtime, &y.recorded) == 0) {
        if (rondo_instantiate(y.recorded.subgraph, &options, &y.exec) != RONDO_OK) {
            rg_run_wrong(run, "instantiate: %s", rondo_error_message());
        } else {
            check_counts(&y);
            if (p->seed % 5 == 0)
                end_early(&y);
            for (uint32_t s = 0; s < p->step_count && !atomic_load(&run->failed); s++)
                perform(&y, s);
            (void)rondo_exec_wait(y.exec, NULL);
            compare(&y);
            (void)rondo_exec_destroy(y.exec);
        }
    }
    rg_recorded_free(&y.recorded);
    return atomic_load(&run->failed);
}
