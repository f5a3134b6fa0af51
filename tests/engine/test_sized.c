/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs built against other headers than the library: every exported _sized function takes a
 * description that is shorter than this library's (what is beyond its size is not looked at) or
 * longer (what this library does not know must be zero), and gives outputs no longer than the
 * caller's. */
#include "tests/engine/engine_check.h"
#include "tests/support/graph_text.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { MORE = 64, ROOM = 2048 }; /* bytes of a newer struct's end; of any struct */

struct rig {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_loop loop;
    rondo_node node;
    rondo_event event;
    rondo_counter counter;
    rondo_buffer buffer;
    rondo_slot slot, other;
    int64_t bytes_seen[4]; /* what `buffer` wraps */
    _Atomic(int) runs;
    int made; /* objects or nodes that the offers made */
};

/* ---- descriptions */

typedef rondo_status offer_fn(struct rig *rig, const void *desc, size_t bytes);

/* `older`: the size of a version that ends there. */
static void offer(struct rig *rig, offer_fn *fn, const char *name, const void *desc, size_t bytes,
                  size_t older)
{
    _Alignas(16) unsigned char wide[ROOM];
    int made = rig->made;
    cr_assert(older < bytes && bytes + MORE <= sizeof wide);
    memset(wide, 0, sizeof wide);
    memcpy(wide, desc, bytes);
    ET_OK(fn(rig, wide, bytes + MORE));
    wide[bytes + MORE - 1] = 1;
    ET_IS(fn(rig, wide, bytes + MORE), RONDO_ERR_INVALID);
    ET_SAYS(name);
    ET_SAYS("this library knows");
    memset(wide + older, 0xff, sizeof wide - older);
    ET_OK(fn(rig, wide, older));
    cr_assert_eq(rig->made, made + 2, "%s: %d of 2 were made", name, rig->made - made);
}
#define OFFER(rig, fn, type, desc, first_newer) \
    offer(rig, fn, #type, desc, sizeof(type), offsetof(type, first_newer))

static struct rig open_rig(void)
{
    struct rig r = { .rt = et_runtime(1) };
    et_alarm(60, "sized");
    ET_OK(rondo_subgraph_create(r.rt, NULL, &r.g));
    return r;
}

static void close_rig(struct rig *r)
{
    ET_OK(rondo_subgraph_destroy(r->g));
    ET_CLOSE(r->rt);
    et_alarm(0, "done");
}

/* ---- objects */

static rondo_status open_one(struct rig *r, const void *desc, size_t bytes)
{
    rondo_runtime rt;
    rondo_status status = rondo_runtime_open_sized(desc, bytes, &rt);
    if (status)
        return status;
    uint32_t processors;
    ET_OK(rondo_runtime_processors(rt, &processors));
    cr_assert_eq(processors, 1);
    r->made++;
    return rondo_runtime_close(rt);
}

static rondo_status create_buffer(struct rig *r, const void *desc, size_t bytes)
{
    rondo_buffer b;
    void *host;
    rondo_status status = rondo_buffer_create_sized(r->rt, desc, bytes, &b);
    if (status)
        return status;
    ET_OK(rondo_buffer_map(b, RONDO_READ, &host));
    cr_assert_eq(*(int64_t *)host, 0); /* Rondo's own memory, since none was given */
    ET_OK(rondo_buffer_unmap(b));
    r->made++;
    return rondo_buffer_destroy(b);
}

static rondo_status create_subgraph(struct rig *r, const void *desc, size_t bytes)
{
    rondo_subgraph g;
    rondo_status status = rondo_subgraph_create_sized(r->rt, desc, bytes, &g);
    if (status)
        return status;
    r->made++;
    return rondo_subgraph_destroy(g);
}

static rondo_status create_loop(struct rig *r, const void *desc, size_t bytes)
{
    rondo_loop loop;
    rondo_status status = rondo_loop_create_sized(r->rt, desc, bytes, NULL, 0, &loop);
    if (status)
        return status;
    r->made++;
    return rondo_loop_destroy(loop);
}

static rondo_status create_loop_with(struct rig *r, const void *options, size_t bytes)
{
    rondo_loop loop;
    rondo_status status = rondo_loop_create_sized(r->rt, NULL, 0, options, bytes, &loop);
    if (status)
        return status;
    r->made++;
    return rondo_loop_destroy(loop);
}

Test(engine_sized, objects)
{
    struct rig r = open_rig();
    char cpus[64];
    et_cpu_list(1, cpus, sizeof cpus);
    rondo_runtime_options machine = { .cpus = cpus };
    rondo_buffer_desc buffer = { .shape = { .elem_bytes = 8, .extent = { 4 } } };
    rondo_subgraph_desc subgraph = { .name = "offered" };
    rondo_instantiate_options options = { .order = RONDO_PIPELINED };
    OFFER(&r, open_one, rondo_runtime_options, &machine, adopt);
    OFFER(&r, create_buffer, rondo_buffer_desc, &buffer, host);
    OFFER(&r, create_subgraph, rondo_subgraph_desc, &subgraph, flags);
    OFFER(&r, create_loop, rondo_subgraph_desc, &subgraph, flags);
    OFFER(&r, create_loop_with, rondo_instantiate_options, &options, tracks);
    close_rig(&r);
}

/* ---- reading a recording */

static struct graph_text recorded;
static int asked; /* for tasks */

static rondo_status ask_task(void *context, uint32_t node, rondo_task_desc *desc,
                             void (**call)(void *context))
{
    (void)desc;
    (void)call;
    cr_assert_eq(node, 0);
    cr_assert_null(context); /* the older version had none */
    asked++;
    return RONDO_OK;
}

/* The older version's callbacks end with `task`. */
static rondo_status read_json(struct rig *r, const void *options, size_t bytes)
{
    rondo_subgraph g;
    rondo_status status =
        rondo_subgraph_read_json_sized(r->rt, recorded.text, recorded.bytes, options, bytes, &g);
    if (status)
        return status;
    cr_assert_eq(asked, ++r->made);
    return rondo_subgraph_destroy(g);
}

static int do_nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

Test(engine_sized, reading)
{
    struct rig r = open_rig();
    rondo_read_options options = { .task = ask_task };
    rondo_buffer_desc buffer = { .shape = { .elem_bytes = 8, .extent = { 4 } } };
    ET_OK(rondo_buffer_create(r.rt, &buffer, &r.buffer));
    r.slot = rondo_subgraph_slot(r.g, &(rondo_slot_desc){ .buffer = r.buffer });
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .fn = do_nothing,
                                 RONDO_ACCESSES(rondo_write(r.slot, rondo_whole())) }));
    ET_OK(graph_text_of(r.g, &recorded));
    OFFER(&r, read_json, rondo_read_options, &options, buffer);
    free(recorded.text);
    ET_OK(rondo_buffer_destroy(r.buffer));
    close_rig(&r);
}

/* ---- builders. A refused one leaves an error that sticks. */

static rondo_status built(struct rig *r, uint64_t id)
{
    rondo_status status = rondo_subgraph_status(r->g);
    cr_assert_eq(status != RONDO_OK, id == 0);
    if (id)
        r->made++;
    else
        ET_OK(rondo_subgraph_clear_error(r->g));
    return status;
}

static int count_run(rondo_task *self, const void *arg)
{
    struct rig *r = rondo_task_context(self);
    (void)arg;
    atomic_fetch_add(&r->runs, 1);
    return 0;
}

static rondo_status make_slot(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_subgraph_slot_sized(r->g, desc, bytes).id);
}
static rondo_status record_task(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_task_sized(r->g, desc, bytes).id);
}
static rondo_status record_for(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_for_sized(r->g, desc, bytes).id);
}
/* The task of a rondo_record_for has a size of its own. */
static rondo_status record_for_task(struct rig *r, const void *desc, size_t bytes)
{
    rondo_for_desc d = { .task = desc, .task_bytes = bytes, .range = rondo_span(0, 2) };
    return built(r, rondo_record_for(r->g, &d).id);
}
static rondo_status record_copy(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_copy_sized(r->g, desc, bytes).id);
}
static rondo_status record_fill(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_fill_sized(r->g, desc, bytes).id);
}
static rondo_status record_allreduce(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_allreduce_sized(r->g, desc, bytes).id);
}
static rondo_status record_wait(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_wait_sized(r->g, desc, bytes).id);
}
static rondo_status record_signal(struct rig *r, const void *desc, size_t bytes)
{
    return built(r, rondo_record_signal_sized(r->g, desc, bytes).id);
}
static rondo_status record_inner(struct rig *r, const void *desc, size_t bytes)
{
    rondo_subgraph inner;
    ET_OK(rondo_subgraph_create(r->rt, NULL, &inner));
    ET_HANDLE(rondo_record_task(
        inner, &(rondo_task_desc){ .fn = count_run, .context = r, .flags = RONDO_NO_ACCESS }));
    rondo_status status = built(r, rondo_record_subgraph_sized(r->g, inner, desc, bytes).id);
    ET_OK(rondo_subgraph_destroy(inner));
    return status;
}

static void make_slots(struct rig *r)
{
    rondo_buffer_desc d = { .shape = { .elem_bytes = 8, .extent = { 4 } }, .host = r->bytes_seen };
    ET_OK(rondo_buffer_create(r->rt, &d, &r->buffer));
    ET_OK(rondo_counter_create(r->rt, 0, &r->counter));
    r->slot = rondo_subgraph_slot(r->g, &(rondo_slot_desc){ .buffer = r->buffer });
    r->other = rondo_subgraph_slot(
        r->g, &(rondo_slot_desc){ .shape = d.shape, .flags = RONDO_TEMPORARY | RONDO_ZEROED });
    ET_HANDLE(r->slot);
    ET_HANDLE(r->other);
}

/* Replays what was recorded, and closes. */
static void run_recorded(struct rig *r)
{
    ET_OK(rondo_instantiate(r->g, NULL, &r->exec));
    ET_OK(rondo_replay_and_wait(r->exec, NULL, -1, NULL));
    ET_OK(rondo_exec_destroy(r->exec));
    ET_OK(rondo_buffer_destroy(r->buffer));
    ET_OK(rondo_counter_destroy(r->counter));
}

Test(engine_sized, tasks)
{
    static struct rig r;
    r = open_rig();
    make_slots(&r);
    rondo_slot_desc slot = { .name = "offered", .buffer = r.buffer };
    rondo_task_desc task = { .fn = count_run, .context = &r };
    rondo_for_desc loop = { .task = &task, .range = rondo_span(0, 8), .chunks = { 4 } };
    rondo_inner_desc inner = { .name = "offered" };
    OFFER(&r, make_slot, rondo_slot_desc, &slot, flags);
    OFFER(&r, record_task, rondo_task_desc, &task, accesses);
    offer(&r, record_for_task, "rondo_for_desc: task", &task, sizeof task,
          offsetof(rondo_task_desc, accesses));
    OFFER(&r, record_for, rondo_for_desc, &loop, chunks);
    OFFER(&r, record_inner, rondo_inner_desc, &inner, when);
    run_recorded(&r);
    /* Each of two ran once, but for a loop of four chunks beside one that said none. */
    cr_assert_eq(atomic_load(&r.runs), 2 + 2 + (4 + 1) + 2);
    close_rig(&r);
}

Test(engine_sized, moves)
{
    static struct rig r;
    static const int64_t seven = 7;
    r = open_rig();
    make_slots(&r);
    rondo_move_desc fill = { .to = rondo_write(r.other, rondo_whole()),
                             .value = &seven,
                             .value_bytes = sizeof seven };
    rondo_move_desc copy = { .from = rondo_read(r.other, rondo_span(0, 2)),
                             .to = rondo_write(r.slot, rondo_span(0, 2)) };
    rondo_move_desc reduce = { .from = rondo_read(r.other, rondo_span(2, 2)),
                               .to = rondo_write(r.slot, rondo_span(2, 2)),
                               .type = RONDO_I64,
                               .op = RONDO_SUM };
    OFFER(&r, record_fill, rondo_move_desc, &fill, when);
    OFFER(&r, record_copy, rondo_move_desc, &copy, when);
    /* It needs the last field: an older version's struct ended there, without this one's padding.
     */
    offer(&r, record_allreduce, "rondo_move_desc", &reduce, sizeof reduce,
          offsetof(rondo_move_desc, op) + 1);
    run_recorded(&r);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(r.bytes_seen[i], 7, "element %d is %lld", i, (long long)r.bytes_seen[i]);
    close_rig(&r);
}

Test(engine_sized, waits_and_signals)
{
    static struct rig r;
    uint64_t value;
    r = open_rig();
    make_slots(&r);
    rondo_sync_desc signal = { .counter = r.counter, .first = 5 };
    rondo_sync_desc wait = { .counter = r.counter, .first = 5 };
    OFFER(&r, record_signal, rondo_sync_desc, &signal, event);
    OFFER(&r, record_wait, rondo_sync_desc, &wait, event);
    ET_OK(rondo_instantiate(r.g, NULL, &r.exec));
    ET_OK(rondo_replay_and_wait(r.exec, NULL, -1, NULL));
    ET_OK(rondo_counter_value(r.counter, &value));
    cr_assert_eq(value, 5);
    ET_OK(rondo_exec_destroy(r.exec));
    ET_OK(rondo_buffer_destroy(r.buffer));
    ET_OK(rondo_counter_destroy(r.counter));
    close_rig(&r);
}

/* ---- execs */

static rondo_status instantiate(struct rig *r, const void *desc, size_t bytes)
{
    rondo_exec exec;
    rondo_status status = rondo_instantiate_sized(r->g, desc, bytes, &exec);
    if (status)
        return status;
    r->made++;
    return rondo_exec_destroy(exec);
}

static rondo_status instantiate_group(struct rig *r, const void *desc, size_t bytes)
{
    rondo_subgraph both[2] = { r->g, r->g };
    rondo_exec execs[2];
    rondo_status status = rondo_instantiate_group_sized(both, 2, desc, bytes, execs);
    if (status)
        return status;
    ET_OK(rondo_replay_and_wait(execs[1], NULL, -1, NULL));
    ET_OK(rondo_exec_destroy(execs[0]));
    r->made++;
    return rondo_exec_destroy(execs[1]);
}

static rondo_status replay(struct rig *r, const void *args, size_t bytes)
{
    rondo_event event;
    rondo_status status = rondo_replay_sized(r->exec, args, bytes, &event);
    if (status)
        return status;
    r->made++;
    return rondo_event_wait(event, -1);
}

static rondo_status replay_and_wait(struct rig *r, const void *args, size_t bytes)
{
    rondo_status status = rondo_replay_and_wait_sized(r->exec, args, bytes, -1, NULL, 0);
    r->made += !status;
    return status;
}

static rondo_status replay_loop(struct rig *r, const void *args, size_t bytes)
{
    rondo_status status = rondo_loop_replay_sized(r->loop, args, bytes, NULL);
    if (status)
        return status;
    r->made++;
    return rondo_loop_wait(r->loop, NULL);
}

/* The task's function changes, and what runs in the next replay with it. */
static rondo_status update_task(struct rig *r, const void *desc, size_t bytes)
{
    int runs = atomic_load(&r->runs);
    rondo_status status = rondo_exec_update_task_sized(r->exec, r->node, desc, bytes);
    ET_OK(rondo_replay_and_wait(r->exec, NULL, -1, NULL));
    cr_assert_eq(atomic_load(&r->runs), runs + 1);
    r->made += !status;
    return status;
}

static void make_exec(struct rig *r)
{
    r->node = rondo_record_task(
        r->g, &(rondo_task_desc){ .fn = count_run, .context = r, .flags = RONDO_NO_ACCESS });
    ET_HANDLE(r->node);
    ET_OK(rondo_instantiate(r->g, NULL, &r->exec));
}

static void make_loop(struct rig *r)
{
    rondo_subgraph step;
    ET_OK(rondo_loop_create(r->rt, NULL, NULL, &r->loop));
    cr_assert_eq(rondo_loop_record(r->loop, &step), 1);
    ET_HANDLE(rondo_record_task(
        step, &(rondo_task_desc){ .fn = count_run, .context = r, .flags = RONDO_NO_ACCESS }));
}

Test(engine_sized, execs)
{
    static struct rig r;
    r = open_rig();
    make_exec(&r);
    make_loop(&r);
    rondo_instantiate_options options = { .order = RONDO_PIPELINED };
    rondo_replay_args three = { .count = 3 };
    rondo_task_desc task = { .fn = count_run, .context = &r };
    OFFER(&r, instantiate, rondo_instantiate_options, &options, tracks);
    OFFER(&r, instantiate_group, rondo_instantiate_options, &options, tracks);
    OFFER(&r, update_task, rondo_task_desc, &task, release);
    atomic_store(&r.runs, 0);
    OFFER(&r, replay, rondo_replay_args, &three, count);
    cr_assert_eq(atomic_load(&r.runs), 3 + 1); /* who does not know of counts asks for one */
    OFFER(&r, replay_and_wait, rondo_replay_args, &three, count);
    cr_assert_eq(atomic_load(&r.runs), 2 * (3 + 1));
    OFFER(&r, replay_loop, rondo_replay_args, &three, count);
    cr_assert_eq(atomic_load(&r.runs), 3 * (3 + 1));
    ET_OK(rondo_loop_destroy(r.loop));
    ET_OK(rondo_exec_destroy(r.exec));
    close_rig(&r);
}

/* ---- outputs */

typedef rondo_status give_fn(struct rig *rig, void *out, size_t room);

static int is_untouched(const unsigned char *bytes, size_t from, size_t to)
{
    while (from < to && bytes[from] == 0xa5)
        from++;
    return from == to;
}

/* `status`: what the function returns when it fills the output. */
static void give(struct rig *r, give_fn *fn, rondo_status status, size_t known, size_t older)
{
    _Alignas(16) unsigned char wide[ROOM], narrow[ROOM];
    memset(wide, 0xa5, sizeof wide);
    ET_IS(fn(r, wide, known + MORE), status);
    cr_assert(is_untouched(wide, known, sizeof wide), "more was written than is known");
    cr_assert(!is_untouched(wide, 0, known));
    memset(narrow, 0xa5, sizeof narrow);
    ET_IS(fn(r, narrow, older), status);
    cr_assert(is_untouched(narrow, older, sizeof narrow), "more was written than there is room");
    cr_assert(!memcmp(narrow, wide, older));
    memset(narrow, 0xa5, sizeof narrow);
    ET_IS(fn(r, narrow, 0), status);
    cr_assert(is_untouched(narrow, 0, sizeof narrow), "something was written without room");
}

static rondo_status give_wait(struct rig *r, void *out, size_t room)
{
    return rondo_exec_wait_sized(r->exec, out, room);
}
static rondo_status give_event_result(struct rig *r, void *out, size_t room)
{
    return rondo_event_result_sized(r->event, out, room);
}
/* From a reset on each is the first failure, so that all give the same but the number. */
static rondo_status give_replay(struct rig *r, void *out, size_t room)
{
    ET_OK(rondo_exec_reset(r->exec));
    return rondo_replay_and_wait_sized(r->exec, NULL, sizeof(rondo_replay_args), -1, out, room);
}
static rondo_status give_loop(struct rig *r, void *out, size_t room)
{
    return rondo_loop_wait_sized(r->loop, out, room);
}
static rondo_status give_info(struct rig *r, void *out, size_t room)
{
    return rondo_exec_node_info_sized(r->exec, r->node, out, room);
}
static rondo_status give_counts(struct rig *r, void *out, size_t room)
{
    return rondo_exec_count_sized(r->exec, out, room);
}
static rondo_status give_statistics(struct rig *r, void *out, size_t room)
{
    return rondo_runtime_stats_sized(r->rt, out, room);
}
static rondo_status give_simulation(struct rig *r, void *out, size_t room)
{
    rondo_simulate_options o = { .processors = 2 };
    return rondo_simulate_sized(r->g, &o, sizeof o, out, room);
}
static rondo_status simulate(struct rig *r, const void *options, size_t bytes)
{
    rondo_simulation s;
    rondo_status status = rondo_simulate_sized(r->g, options, bytes, &s, sizeof s);
    r->made += !status;
    return status;
}

static int fail_always(rondo_task *self, const void *arg)
{
    (void)arg;
    return rondo_task_fail(self, "as it should");
}

Test(engine_sized, outputs)
{
    static struct rig r;
    rondo_simulate_options machine = { .processors = 2 };
    size_t result = sizeof(rondo_result), tag = offsetof(rondo_result, tag);
    r = open_rig();
    make_loop(&r);
    r.node = rondo_record_task(r.g, &(rondo_task_desc){ .fn = fail_always, .tag = 9 });
    ET_OK(rondo_instantiate(r.g, NULL, &r.exec));
    ET_OK(rondo_replay(r.exec, NULL, &r.event));
    give(&r, give_wait, RONDO_ERR_FAILED, result, offsetof(rondo_result, message));
    give(&r, give_event_result, RONDO_OK, result, offsetof(rondo_result, message));
    give(&r, give_replay, RONDO_ERR_FAILED, result, offsetof(rondo_result, replay));
    give(&r, give_loop, RONDO_OK, result, tag); /* nothing has run: a success all the same */
    ET_OK(rondo_loop_replay(r.loop, NULL, NULL));
    give(&r, give_loop, RONDO_OK, result, tag);
    give(&r, give_info, RONDO_OK, sizeof(rondo_node_info), offsetof(rondo_node_info, why));
    give(&r, give_counts, RONDO_OK, sizeof(rondo_exec_counts), offsetof(rondo_exec_counts, lanes));
    give(&r, give_statistics, RONDO_OK, sizeof(rondo_runtime_statistics),
         offsetof(rondo_runtime_statistics, frames));
    give(&r, give_simulation, RONDO_OK, sizeof(rondo_simulation),
         offsetof(rondo_simulation, handovers));
    OFFER(&r, simulate, rondo_simulate_options, &machine, exec);
    ET_OK(rondo_loop_destroy(r.loop));
    ET_OK(rondo_exec_destroy(r.exec));
    close_rig(&r);
}
