/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays a random program's script on an exec and compares everything with the oracle. */
#include "tests/engine/engine_util.h"
#include "tests/engine/oracle.h"
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct play {
    struct rg_run *run;
    const struct rg_place *place;
    const struct rg_variant *variant;
    const struct rg_expected *expected;
    struct rg_recorded recorded[RG_MEMBERS]; /* what each member runs at present */
    struct rg_recorded *older;               /* those it ran before an update */
    uint32_t older_count;
    uint32_t *version; /* by record */
    rondo_exec exec[RG_MEMBERS];
    int exact;            /* what ran is known to the node, also behind a failure */
    uint64_t replays;     /* submitted */
    rondo_event last;     /* event of the last replay step */
    uint32_t last_step;   /* that step, or RG_STEPS */
    uint64_t last_replay; /* its last replay */
    rondo_event before;   /* an older one */
    rondo_event at;       /* of a node */
    atomic_ullong done;   /* calls of `done` */
    uint64_t done_expected;
    struct rg_chores *chores;
    int visited; /* since the last replay, by another exec */
};

static int failed(rondo_status status)
{
    return status == RONDO_ERR_FAILED || status == RONDO_ERR_DEADLINE;
}

static void check_failure(struct play *y, uint32_t step, const rondo_result *result,
                          const struct rg_outcome *o)
{
    const struct rg_program *p = y->run->program;
    char name[16], why[64];
    uint32_t record = p->record[p->node[o->node].record].twin;
    (void)snprintf(name, sizeof name, "n%u", record);
    (void)snprintf(why, sizeof why, "node %u in replay %llu", p->node[o->node].twin,
                   (unsigned long long)o->replay);
    const char *node = strrchr(result->node, '/'); /* a nest's name, and a chunk's number */
    node = node ? node + 1 : result->node;
    const size_t length = strcspn(node, "[");
    if (result->replay != o->replay || result->replays_run != o->replays_run)
        rg_run_wrong(y->run, "step %u: replay %llu, run %llu; oracle %llu, %llu", step,
                     (unsigned long long)result->replay, (unsigned long long)result->replays_run,
                     (unsigned long long)o->replay, (unsigned long long)o->replays_run);
    /* Of a late replay the first node that would have run, which may have conditions; another name
     * and tag after an update of the task. */
    if (o->status != RONDO_ERR_FAILED || p->used >> RG_F_UPDATE_TASK & 1)
        return;
    if (length != strlen(name) || strncmp(node, name, length) != 0 || result->tag != 1000 + record)
        rg_run_wrong(y->run, "step %u: node '%s' tag %llu failed, oracle '%s'", step, result->node,
                     (unsigned long long)result->tag, name);
    else if (p->node[o->node].twin % 2 == 0 && strcmp(result->message, why) != 0)
        rg_run_wrong(y->run, "step %u: message '%s', oracle '%s'", step, result->message, why);
}

static void check_outcome(struct play *y, uint32_t step, const rondo_result *result,
                          const struct rg_outcome *o)
{
    /* A replay behind the first failure may have failed before it was cancelled. */
    if (!y->exact && (o->status == RONDO_ERR_CANCELLED || o->status == RONDO_ERR_DEADLINE) &&
        failed(result->status))
        return;
    if (!y->exact && y->variant->order == RONDO_CONCURRENT)
        return; /* a later one may be the first to fail */
    if (result->status != o->status) {
        rg_run_wrong(y->run, "step %u: result %s, oracle %s", step,
                     rondo_status_string(result->status), rondo_status_string(o->status));
        return;
    }
    if (failed(o->status) && o->began)
        check_failure(y, step, result, o);
    else if (o->status == RONDO_OK && y->exact && o->replays_run &&
             (result->stopped != (uint32_t)o->stopped || result->replays_run != o->replays_run))
        rg_run_wrong(y->run, "step %u: stopped %u, run %llu; oracle %d, %llu", step,
                     result->stopped, (unsigned long long)result->replays_run, o->stopped,
                     (unsigned long long)o->replays_run);
}

/* What a wait node waits for: nothing, an earlier replay, or what the helper brings about. */
static void event_value(struct play *y, const struct rg_step *s, uint32_t param,
                        unsigned char *bytes)
{
    const uint64_t draw = rg_mix(s->salt + param);
    rondo_event event = { 0, 0 };
    if (draw % 4 == 0)
        event = y->last;
    else if (draw % 4 > 1)
        event = rg_helper_promise(y->run, (uint32_t)(draw >> 8) % 4);
    memcpy(bytes, &event, sizeof event);
}

struct values {
    rondo_value value[RG_PARAMS * (1 + RG_NESTS)];
    rondo_binding binding[RG_SLOTS];
    rondo_event after[4];
    unsigned char *bytes;
};

/* A value for a parameter of the member, and of each recording nested in it. */
static void give(const struct rg_recorded *r, uint32_t param, const unsigned char *bytes,
                 size_t stride, struct values *v, rondo_replay_args *args)
{
    v->value[args->value_count++] = (rondo_value){ r->param[param], bytes, stride };
    for (uint32_t i = 0; i < r->inner_count; i++)
        v->value[args->value_count++] = (rondo_value){ r->inner[i].param[param], bytes, stride };
}

/* The call's arguments; the values lie in `bytes`, one after the other. */
static void gather_args(struct play *y, const struct rg_step *s, rondo_replay_args *args,
                        struct values *v)
{
    const struct rg_program *p = y->run->program;
    const struct rg_recorded *recorded = &y->recorded[s->member];
    unsigned char *bytes = v->bytes;
    *args = (rondo_replay_args){ .values = v->value, .bindings = v->binding };
    args->count = s->count == 1 && s->salt % 2 ? 0 : s->count;
    for (uint32_t q = 0; q < p->param_count; q++) {
        if (!(s->given >> q & 1) && !p->param[q].event)
            continue;
        size_t stride = s->strided >> q & 1 && !p->param[q].event ? RG_PARAM_BYTES : 0;
        give(recorded, q, bytes, stride, v, args);
        if (p->param[q].event)
            event_value(y, s, q, bytes);
        for (uint64_t k = 0; k < (stride ? s->count : 1); k++, bytes += RG_PARAM_BYTES)
            if (!p->param[q].event)
                rg_param_value(p, q, s->salt, k, bytes);
    }
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[i].kind == RG_BOUND) {
            uint32_t which = rg_binding(p, s, i, y->replays);
            v->binding[args->binding_count++] =
                (rondo_binding){ recorded->slot[i], recorded->buffer[p->slot[i].buffer[which]] };
        }
}

/* Every third call waits for earlier replays' events, which adds nothing: they are earlier. */
static void add_events(struct play *y, const struct rg_step *s, rondo_replay_args *args,
                       rondo_event *after)
{
    if (s->salt % 3 == 0) {
        after[0] = y->before;
        after[1] = (rondo_event){ 0, 0 };
        after[2] = y->last;
        args->after_count = 1 + (uint32_t)(s->salt / 3 % 3);
    }
    if (s->with & RG_WITH_AT)
        after[args->after_count++] = y->at;
    args->after = after;
}

static void count_done(void *context, rondo_event event)
{
    struct play *y = context;
    if (rondo_event_wait(event, 0) != RONDO_OK)
        rg_run_wrong(y->run, "done: its event: %s", rondo_error_message());
    atomic_fetch_add(&y->done, 1);
}

static void add_extras(struct play *y, const struct rg_step *s, rondo_replay_args *args)
{
    int64_t now = s->with ? et_now_ns() : 0;
    if (s->with & RG_WITH_TIMED)
        args->flags |= RONDO_TIMED;
    if (s->with & RG_WITH_DEADLINE)
        args->deadline_ns = now + 3600000000000;
    if (s->late)
        args->deadline_ns = 1;
    if (s->with & RG_WITH_NOT_BEFORE)
        args->not_before_ns = now + (int64_t)(s->salt % 60000) - 10000;
    if (s->with & RG_WITH_DONE) {
        args->done = count_done;
        args->context = y;
        y->done_expected++;
    }
}

static void check_times(struct play *y, uint32_t step, const rondo_result *result)
{
    const struct rg_step *s = &y->run->program->step[step];
    if (s->with & RG_WITH_TIMED && result->status == RONDO_OK && !result->stopped &&
        (result->begin_ns <= 0 || result->end_ns < result->begin_ns))
        rg_run_wrong(y->run, "step %u: timed from %lld to %lld", step, (long long)result->begin_ns,
                     (long long)result->end_ns);
}

static void submit(struct play *y, uint32_t step, rondo_replay_args *args)
{
    const struct rg_step *s = &y->run->program->step[step];
    rondo_event event = { 0, 0 };
    rondo_status status;
    uint32_t retry = s->salt % 7 == 0 && s->count <= y->run->program->window ? RONDO_NO_WAIT : 0;
    args->flags |= retry;
    while ((status = rondo_replay(y->exec[s->member], args, &event)) == RONDO_ERR_AGAIN && retry)
        sched_yield();
    if (status != RONDO_OK)
        rg_run_wrong(y->run, "step %u: replay: %s", step, rondo_error_message());
    y->before = y->last;
    y->last = event;
    y->last_step = step;
    y->last_replay = y->replays + s->count - 1;
}

static void replay(struct play *y, uint32_t step)
{
    const struct rg_step *s = &y->run->program->step[step];
    size_t size = (size_t)RG_PARAMS * RG_PARAM_BYTES * s->count;
    struct values v = { .bytes = malloc(size) };
    rondo_result result = { .status = -1 };
    rondo_replay_args args;
    if (!v.bytes)
        abort();
    gather_args(y, s, &args, &v);
    add_events(y, s, &args, v.after);
    add_extras(y, s, &args);
    rg_partner_replay(y->run, s->count);
    if (s->kind == RG_REPLAY_AND_WAIT) {
        rondo_status status = rondo_replay_and_wait(y->exec[s->member], &args, -1, &result);
        if (status != result.status)
            rg_run_wrong(y->run, "step %u: returns %d: %s, result says %d", step, status,
                         rondo_error_message(), result.status);
        check_times(y, step, &result);
        check_outcome(y, step, &result, &y->expected->step[step].outcome);
    } else {
        submit(y, step, &args);
    }
    y->replays += s->count;
    y->visited = 0;
    memset(v.bytes, 0xee, size); /* all was copied */
    free(v.bytes);
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

/* Waits for a node of the last replay; its stamp is there then. */
static void event_at(struct play *y, uint32_t step)
{
    const struct rg_program *p = y->run->program;
    const struct rg_step *s = &p->step[step];
    const struct rg_record *r = &p->record[s->record];
    if (y->last_step == RG_STEPS || p->step[y->last_step].member != s->member)
        return;
    if (rondo_event_at(y->last, y->recorded[s->member].node[s->record], &y->at) != RONDO_OK) {
        rg_run_wrong(y->run, "step %u: event_at: %s", step, rondo_error_message());
        return;
    }
    if (s->salt % 3 == 0)
        return; /* the next call waits for it */
    if (rondo_event_wait(y->at, -1) != RONDO_OK)
        rg_run_wrong(y->run, "step %u: event of a node: %s", step, rondo_error_message());
    for (uint32_t i = 0; i < r->node_count && rg_stamps(r); i++) {
        const struct rg_cell *cell =
            &y->run->cell[(size_t)(r->first_node + i) * RG_CELLS + y->last_replay % RG_CELLS];
        if (y->run->cells_exact && y->last_replay + 1 == y->replays && cell->replay != y->replays)
            rg_run_wrong(y->run, "step %u: node %u has ended without its stamp", step,
                         r->first_node + i);
    }
}

static void wait_exec(struct play *y, uint32_t step)
{
    const struct rg_expected_step *e = &y->expected->step[step];
    rondo_result result = { .status = -1 };
    rondo_status status = rondo_exec_wait(y->exec[y->run->program->step[step].member], &result);
    if (status != result.status)
        rg_run_wrong(y->run, "step %u: wait returns %d: %s, result says %d", step, status,
                     rondo_error_message(), result.status);
    if (e->known)
        check_outcome(y, step, &result, &e->outcome);
}

static rondo_status set_param(struct play *y, const struct rg_step *s)
{
    rondo_status status = RONDO_OK;
    unsigned char value[RG_PARAM_BYTES];
    rg_param_value(y->run->program, s->param, s->salt, 0, value);
    for (uint32_t m = 0; m < y->run->program->member_count && !status; m++) {
        const struct rg_recorded *r = &y->recorded[m];
        status = rondo_exec_set_param(y->exec[m], r->param[s->param], value);
        for (uint32_t i = 0; i < r->inner_count && !status; i++)
            status = rondo_exec_set_param(y->exec[m], r->inner[i].param[s->param], value);
    }
    memset(value, 0xee, sizeof value);
    return status;
}

/* The member's recording once more, with other arguments. */
static rondo_status update(struct play *y, const struct rg_step *s)
{
    const struct rg_program *p = y->run->program;
    struct rg_recorded *now = &y->recorded[s->member];
    rondo_status status;
    for (uint32_t i = p->member[s->member].first_record; i < p->member[s->member].end_record; i++)
        y->version[i] = s->version;
    y->older[y->older_count++] = *now;
    y->last_step = RG_STEPS; /* its nodes are those of the older one */
    if (rg_record(y->run, y->place->runtime, s->member, y->version, now))
        return RONDO_OK; /* it is said */
    status = rondo_exec_update(y->exec[s->member], now->subgraph);
    return status;
}

static rondo_status change(struct play *y, const struct rg_step *s)
{
    const rondo_exec exec = y->exec[s->member];
    const struct rg_recorded *recorded = &y->recorded[s->member];
    switch (s->kind) {
    case RG_SET_PARAM: return set_param(y, s);
    case RG_SET_MODE: return y->variant->toggles ? rondo_exec_set_mode(exec, s->mode) : RONDO_OK;
    case RG_RESET: return rondo_exec_reset(exec);
    case RG_UPDATE: return update(y, s);
    case RG_UPDATE_TASK:
        return rg_record_again(y->run, exec, recorded->node[s->record], s->record, s->version);
    case RG_ENABLE: return rondo_exec_enable(exec, recorded->node[s->record], (int)s->version);
    default: return RONDO_OK;
    }
}

static void perform(struct play *y, uint32_t step)
{
    switch (y->run->program->step[step].kind) {
    case RG_REPLAY:
    case RG_REPLAY_AND_WAIT: replay(y, step); break;
    case RG_WAIT: wait_exec(y, step); break;
    case RG_EVENT_WAIT: wait_event(y, step); break;
    case RG_EVENT_AT: event_at(y, step); break;
    default:
        if (change(y, &y->run->program->step[step]) != RONDO_OK)
            rg_run_wrong(y->run, "step %u: %s", step, rondo_error_message());
        break;
    }
}

/* ---- where there are devices */

/* What has to be home is, without a call; then everything is as it should be. */
static void look(struct play *y, uint32_t step)
{
    const struct rg_program *p = y->run->program;
    const struct rg_expected_step *e = &y->expected->step[step];
    if (y->exact && p->member_count == 1 && y->replays && !y->visited &&
        rg_device_home(y->run) != e->home)
        rg_run_wrong(y->run, "after step %u: a slot is not home", step);
    if (rg_device_fetch(y->run, &y->recorded[step % p->member_count]))
        rg_run_wrong(y->run, "after step %u: map: %s", step, rondo_error_message());
    else if (y->exact)
        rg_device_compare(y->run, step, e->seen);
}

static void chore(struct play *y, uint32_t step)
{
    const struct rg_program *p = y->run->program;
    const struct rg_step *s = &p->step[step];
    y->visited |= s->chore == RG_VISIT_DEVICE;
    const int waits = s->chore == RG_LOOK || s->chore == RG_POKE || s->chore == RG_TOUCH ||
                      y->last_step == RG_STEPS || p->profile == RG_CONCURRENT;
    for (uint32_t m = 0; m < p->member_count && waits; m++)
        (void)rondo_exec_wait(y->exec[m], NULL);
    if (s->chore == RG_LOOK)
        look(y, step);
    else if (rg_device_chore(y->run, &y->chores, &y->recorded[s->chore_salt % p->member_count], s,
                             y->last))
        rg_run_wrong(y->run, "after step %u: chore %d on buffer %u: %s", step, (int)s->chore,
                     s->chore_buffer, rondo_error_message());
}

/* ---- comparing */

/* What only reads may have run in replays that were stopped. */
static int may_run_more(const struct play *y)
{
    return y->run->program->stops && y->variant->order == RONDO_PIPELINED;
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
        if (y->exact && !may_run_more(y) ? runs != expected : runs < expected)
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
        for (size_t b = 0; b < p->memory_bytes[m] && !p->memory_hidden[m]; b++)
            if (run->memory[m][b] != expected->memory[m][b])
                return rg_run_wrong(run, "memory %u differs from byte %zu on: %02x, not %02x", m, b,
                                    run->memory[m][b], expected->memory[m][b]);
    for (size_t c = 0; c < (size_t)p->node_count * RG_CELLS && !may_run_more(y); c++)
        if (run->cell[c].replay != expected->cell[c].replay ||
            run->cell[c].value != expected->cell[c].value)
            return rg_run_wrong(run, "stamp %zu of node %zu differs", c % RG_CELLS, c / RG_CELLS);
    return 0;
}

static void check_counts(struct play *y, uint32_t member)
{
    const struct rg_program *p = y->run->program;
    const uint32_t nodes = p->member[member].end_node - p->member[member].first_node;
    rondo_exec_counts counts;
    if (rondo_exec_count(y->exec[member], &counts) != RONDO_OK)
        rg_run_wrong(y->run, "counts: %s", rondo_error_message());
    else if (counts.nodes != nodes || counts.window != p->window)
        rg_run_wrong(y->run, "counts: %llu nodes, window %u; %u nodes",
                     (unsigned long long)counts.nodes, counts.window, nodes);
}

/* Execs live on without the recording and without the handles of what they hold. */
static void end_early(struct play *y, struct rg_recorded *recorded)
{
    const struct rg_program *p = y->run->program;
    (void)rondo_subgraph_destroy(recorded->subgraph);
    if (y->run->devices)
        return; /* their bytes have to come home */
    for (uint32_t i = 0; i < p->slot_count; i++)
        if (p->slot[i].kind != RG_BOUND)
            for (uint32_t k = 0; k < p->slot[i].count; k++)
                (void)rondo_buffer_destroy(recorded->buffer[p->slot[i].buffer[k]]);
}

/* ---- the whole */

uint64_t rg_not_compiled;

static rondo_status make_execs(struct play *y, const rondo_instantiate_options *o)
{
    const uint32_t members = y->run->program->member_count;
    rondo_subgraph subgraph[RG_MEMBERS];
    for (uint32_t m = 0; m < members; m++)
        subgraph[m] = y->recorded[m].subgraph;
    return members == 1 ? rondo_instantiate(subgraph[0], o, y->exec)
                        : rondo_instantiate_group(subgraph, members, o, y->exec);
}

/* What a device's memory cannot hold at once may be refused, and is where replays overtake each
 * other: a device's memory is one for all of them. */
static int may_be_refused(const struct play *y, rondo_status status)
{
    const char *text = rondo_error_message();
    if (status == RONDO_ERR_INVALID && y->variant->order == RONDO_CONCURRENT)
        return strstr(text, "GPU") && strstr(text, "RONDO_CONCURRENT");
    return (status == RONDO_ERR_INVALID || status == RONDO_ERR_MEMORY) && y->run->limited &&
           strstr(text, "bytes") && (strstr(text, "device") || strstr(text, "GPU"));
}

static int instantiate(struct play *y)
{
    const struct rg_program *p = y->run->program;
    const uint64_t draw = rg_mix(p->seed + 9);
    char cpus[64];
    rondo_instantiate_options o = { .mode = y->variant->mode,
                                    .order = y->variant->order,
                                    .schedule = y->variant->schedule,
                                    .window = p->window,
                                    .on_failure = p->on_failure };
    if (y->variant->order == RONDO_CONCURRENT)
        o.tracks = p->tracks;
    if (rg_has(p, RG_F_STATIC) && o.schedule == RONDO_SCHEDULE_AUTO)
        o.schedule = RONDO_STATIC;
    if (rg_has(p, RG_F_PROFILE) && o.mode != RONDO_INTERPRETED)
        o.profile = 1 + (uint32_t)(draw % 5);
    if (rg_has(p, RG_F_PRIORITY))
        o.priority = (int32_t)(draw >> 8 & 7) - 3;
    if (rg_has(p, RG_F_TIMED) && draw >> 16 & 1)
        o.flags = RONDO_TIMED;
    if (y->place->used < y->place->workers) {
        et_cpu_list(y->place->used, cpus, sizeof cpus);
        o.cpus = cpus;
    }
    rondo_status status = make_execs(y, &o);
    if (status == RONDO_ERR_INVALID && o.mode == RONDO_COMPILED && p->member_count) {
        o.mode = RONDO_AUTO;
        status = make_execs(y, &o);
        rg_not_compiled += status == RONDO_OK;
    }
    y->run->refused = status != RONDO_OK && y->run->devices && may_be_refused(y, status);
    if (status != RONDO_OK && !y->run->refused)
        rg_run_wrong(y->run, "instantiate: %s", rondo_error_message());
    return status != RONDO_OK;
}

static void begin(struct play *y)
{
    const struct rg_program *p = y->run->program;
    y->version = calloc(p->record_count, sizeof *y->version);
    y->older = calloc(RG_STEPS, sizeof *y->older);
    if (!y->version || !y->older)
        abort();
    if (rondo_counter_create(y->place->runtime, 0, &y->run->promise))
        rg_run_wrong(y->run, "counter: %s", rondo_error_message());
    for (uint32_t i = 0; i < p->counter_count; i++)
        if (rondo_counter_create(y->place->runtime, 0, &y->run->counter[i]))
            rg_run_wrong(y->run, "counter: %s", rondo_error_message());
    for (uint32_t m = 0; m < p->member_count && !atomic_load(&y->run->failed); m++)
        (void)rg_record(y->run, y->place->runtime, m, y->version, &y->recorded[m]);
}

/* `done` is called after the event is complete. */
static int await_done(struct play *y)
{
    int64_t end = et_now_ns() + 30000000000;
    while (atomic_load(&y->done) < y->done_expected && et_now_ns() < end)
        sched_yield();
    return atomic_load(&y->done) == y->done_expected;
}

static void play(struct play *y)
{
    const struct rg_program *p = y->run->program;
    if (instantiate(y))
        return;
    for (uint32_t m = 0; m < p->member_count; m++) {
        check_counts(y, m);
        if (p->seed % 5 == 0)
            end_early(y, &y->recorded[m]);
    }
    (void)rg_partner_open(y->run, y->place->runtime);
    for (uint32_t s = 0; s < p->step_count && !atomic_load(&y->run->failed); s++) {
        perform(y, s);
        if (p->step[s].chore && !atomic_load(&y->run->failed))
            chore(y, s);
    }
    for (uint32_t m = 0; m < p->member_count; m++)
        (void)rondo_exec_wait(y->exec[m], NULL);
    if (!await_done(y))
        rg_run_wrong(y->run, "done was called %llu times of %llu",
                     (unsigned long long)atomic_load(&y->done),
                     (unsigned long long)y->done_expected);
    rg_partner_close(y->run);
    compare(y);
    rg_chores_end(y->chores);
    for (uint32_t m = 0; m < p->member_count; m++)
        (void)rondo_exec_destroy(y->exec[m]);
}

static void end(struct play *y)
{
    const struct rg_program *p = y->run->program;
    for (uint32_t i = 0; i < y->older_count; i++)
        rg_recorded_free(&y->older[i]);
    for (uint32_t m = 0; m < p->member_count; m++)
        rg_recorded_free(&y->recorded[m]);
    /* What still waits is let go. */
    for (uint32_t i = 0; i < p->counter_count; i++) {
        (void)rondo_counter_raise(y->run->counter[i], UINT64_MAX);
        (void)rondo_counter_destroy(y->run->counter[i]);
    }
    rg_helper_settle();
    (void)rondo_counter_destroy(y->run->promise);
    free(y->older);
    free(y->version);
}

static void discard(void *context, const char *text) { *(size_t *)context += strlen(text); }

int rg_play(struct rg_run *run, const struct rg_place *place, const struct rg_variant *variant,
            const struct rg_expected *expected)
{
    struct play *y = calloc(1, sizeof *y);
    int traced = rg_has(run->program, RG_F_TRACED);
    size_t bytes = 0;
    if (!y)
        abort();
    y->run = run;
    y->place = place;
    y->variant = variant;
    y->expected = expected;
    y->last_step = RG_STEPS;
    y->exact = variant->order == RONDO_SERIAL || !expected->cancelled;
    if (traced && rondo_trace_start(place->runtime, 1000) != RONDO_OK)
        rg_run_wrong(run, "trace: %s", rondo_error_message());
    begin(y);
    if (!atomic_load(&run->failed))
        play(y);
    end(y);
    if (traced && (rondo_trace_stop(place->runtime, discard, &bytes) != RONDO_OK || !bytes))
        rg_run_wrong(run, "trace: %zu bytes: %s", bytes, rondo_error_message());
    free(y);
    return atomic_load(&run->failed);
}
