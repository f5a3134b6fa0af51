/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes to single nodes between replays: rondo_exec_update_task, rondo_exec_enable; and
 * rondo_exec_touch. */
#include "tests/engine/every_mode.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LOGGED = 1024 };
enum { PLAIN, PATCHED, SPMD, DETACHED, BLOCKING, WHEN, HOSTED, KINDS };

struct log {
    _Atomic(uint64_t) v[KINDS][LOGGED];
};
struct put {
    struct log *log;
    uint64_t which, add, patched;
};

static struct log notes;

static int put_value(rondo_task *self, const struct put *p, uint64_t value)
{
    const uint64_t *context = rondo_task_context(self);
    value += p->patched + (context ? *context : 0);
    if (p->which == DETACHED) {
        rondo_completion c = rondo_task_detach(self);
        atomic_fetch_add(&p->log->v[p->which][self->replay], value);
        return rondo_completion_finish(c, RONDO_OK, NULL);
    }
    atomic_fetch_add(&p->log->v[p->which][self->replay], value);
    return 0;
}

static int put(rondo_task *self, const void *arg)
{
    const struct put *p = arg;
    return put_value(self, p, p->add);
}
static int put_more(rondo_task *self, const void *arg)
{
    const struct put *p = arg;
    return put_value(self, p, p->add + 1);
}

struct kinds {
    rondo_subgraph g;
    rondo_param param;
    rondo_node node[KINDS];
};

static const uint32_t kind_flags[KINDS] = { [SPMD] = RONDO_SPMD,
                                            [DETACHED] = RONDO_DETACHED,
                                            [BLOCKING] = RONDO_MAY_BLOCK,
                                            [HOSTED] = RONDO_HOSTED };

/* One node of each kind, in a row. */
static struct kinds record_kinds(rondo_runtime rt)
{
    struct kinds k;
    const uint64_t three = 3;
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "kinds" }, &k.g));
    k.param = rondo_subgraph_param(k.g, "p", sizeof three, &three);
    for (uint64_t i = 0; i < KINDS; i++) {
        struct put arg = { &notes, i, i, 0 };
        rondo_patch patch = { k.param, 0, offsetof(struct put, patched), sizeof three, 0 };
        rondo_task_desc d = { .name = "put",
                              .fn = put,
                              RONDO_ARG(arg),
                              .flags = RONDO_NO_ACCESS | kind_flags[i],
                              .cost_ns = 50000,
                              .after = i ? &k.node[i / 2] : NULL,
                              .after_count = i > 1 };
        if (i == PATCHED) {
            d.patches = &patch;
            d.patch_count = 1;
        }
        if (i == WHEN)
            d.when = (rondo_when){ .param = k.param };
        k.node[i] = rondo_record_task(k.g, &d);
        ET_HANDLE(k.node[i]);
    }
    return k;
}

/* ---- other tasks */

static void retask(const struct em_mode *m, uint32_t workers)
{
    enum { ROUNDS = 40 };
    rondo_runtime rt = et_runtime(workers);
    rondo_instantiate_options o = em_options(m, 4);
    struct kinds k = record_kinds(rt);
    static uint64_t expected[KINDS][LOGGED];
    uint64_t value[KINDS], replay = 0, contexts[ROUNDS];
    rondo_exec exec;
    memset(&notes, 0, sizeof notes);
    ET_OK(rondo_instantiate(k.g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(k.g));
    for (uint64_t i = 0; i < KINDS; i++)
        value[i] = i;
    for (uint64_t r = 0; r < ROUNDS; r++) {
        for (int times = 0; times < 5; times++, replay++) {
            ET_OK(rondo_replay(exec, NULL, NULL));
            for (int i = 0; i < KINDS; i++)
                expected[i][replay] =
                    (value[i] + (i == PATCHED ? 3 : 0)) * (i == SPMD ? workers : 1);
        }
        uint64_t i = r % KINDS;
        struct put arg = { &notes, i, 1000 * r, 0 };
        contexts[r] = r;
        value[i] = 1000 * r + r % 2 + (r % 3 ? r : 0);
        ET_OK(rondo_exec_update_task(exec, k.node[i],
                                     &(rondo_task_desc){ .fn = r % 2 ? put_more : put,
                                                         RONDO_ARG(arg),
                                                         .context = r % 3 ? &contexts[r] : NULL,
                                                         .cost_ns = r % 5 ? 0 : 20000 }));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    for (uint64_t r = 0; r < replay; r++)
        for (int i = 0; i < KINDS; i++)
            cr_assert_eq(atomic_load(&notes.v[i][r]), expected[i][r],
                         "%s: %u workers: kind %d, replay %llu: %llu, not %llu", m->name, workers,
                         i, (unsigned long long)r, (unsigned long long)atomic_load(&notes.v[i][r]),
                         (unsigned long long)expected[i][r]);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_retask, tasks_of_every_kind_are_changed_between_replays)
{
    for (uint32_t k = 0; k < EM_MODES; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&em_modes[k], workers);
            retask(&em_modes[k], workers);
        }
    et_alarm(0, "done");
}

struct counted {
    uint64_t value; /* as tasks read it */
    _Atomic(uint64_t) released;
};
static void count_release(void *context)
{
    atomic_fetch_add(&((struct counted *)context)->released, 1);
}

Test(engine_retask, contexts_are_released_once_and_a_task_may_be_changed_while_it_is_off)
{
    rondo_runtime rt = et_runtime(2);
    struct counted context[2] = { { 0 } };
    et_alarm(60, "%s", __func__);
    for (uint32_t mode = 0; mode < EM_ORDERED; mode++) {
        rondo_instantiate_options o = em_options(&em_modes[mode], 4);
        struct kinds k = record_kinds(rt);
        rondo_exec exec;
        memset(&notes, 0, sizeof notes);
        memset(context, 0, sizeof context);
        ET_OK(rondo_instantiate(k.g, &o, &exec));
        ET_OK(rondo_subgraph_destroy(k.g));
        for (uint64_t i = 0; i < KINDS; i++)
            for (int n = 0; n < 2; n++) {
                struct put arg = { &notes, i, 100 + i, 0 };
                ET_OK(rondo_replay(exec, NULL, NULL));
                ET_OK(rondo_exec_enable(exec, k.node[i], 0));
                ET_OK(rondo_replay(exec, NULL, NULL));
                ET_OK(rondo_exec_update_task(exec, k.node[i],
                                             &(rondo_task_desc){ .fn = put,
                                                                 RONDO_ARG(arg),
                                                                 .context = &context[n],
                                                                 .release = count_release }));
                ET_OK(rondo_replay(exec, NULL, NULL));
                ET_OK(rondo_exec_enable(exec, k.node[i], 1));
                ET_OK(rondo_replay(exec, NULL, NULL));
            }
        ET_OK(rondo_exec_wait(exec, NULL));
        ET_OK(rondo_runtime_drain(rt));
        for (uint64_t i = 0; i < KINDS; i++) { /* 8 replays of each kind */
            uint64_t first = 8 * i, add = i == PATCHED ? 3 : 0, times = i == SPMD ? 2 : 1;
            for (uint64_t r = first; r < first + 8; r++) {
                uint64_t n = (r - first) % 4;
                uint64_t want = n == 1 || n == 2 ? 0 : (r == first ? i + add : 100 + i + add);
                cr_assert_eq(atomic_load(&notes.v[i][r]), times * want, "%s: kind %llu, %llu: %llu",
                             em_modes[mode].name, (unsigned long long)i,
                             (unsigned long long)(r - first),
                             (unsigned long long)atomic_load(&notes.v[i][r]));
            }
        }
        cr_assert_eq(atomic_load(&context[0].released), KINDS); /* others took their place */
        cr_assert_eq(atomic_load(&context[1].released), 0);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_runtime_drain(rt));
        cr_assert_eq(atomic_load(&context[0].released), KINDS);
        cr_assert_eq(atomic_load(&context[1].released), KINDS);
    }
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

static int change_in_task(rondo_task *self, const void *arg)
{
    rondo_exec exec = **(rondo_exec *const *)arg;
    rondo_task_desc d = { .fn = put };
    (void)self;
    return rondo_exec_update_task(exec, (rondo_node){ 1 }, &d) != RONDO_ERR_WOULD_BLOCK ||
           rondo_exec_enable(exec, (rondo_node){ 1 }, 0) != RONDO_ERR_WOULD_BLOCK ||
           rondo_exec_touch(exec) != RONDO_ERR_WOULD_BLOCK ||
           rondo_exec_update(exec, (rondo_subgraph){ 1 }) == RONDO_OK;
}

Test(engine_retask, what_cannot_be_changed_is_refused_by_name)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec, *own = &exec;
    rondo_buffer b;
    rondo_subgraph g;
    rondo_slot slot, other;
    rondo_node task, copy, many, wait, patched;
    rondo_counter counter;
    rondo_param param;
    double data[16] = { 0 };
    uint64_t zero = 0;
    et_alarm(60, "%s", __func__);
    ET_OK(rondo_counter_create(rt, 0, &counter));
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .host = data, .shape = { 8, { 16 }, { 0 } } }, &b));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "x", .buffer = b });
    other = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .flags = RONDO_TEMPORARY, .shape = { 8, { 16 }, { 0 } } });
    param = rondo_subgraph_param(g, "p", sizeof zero, &zero);
    task = rondo_record_task(
        g, &(rondo_task_desc){ .name = "itself",
                               .fn = change_in_task,
                               RONDO_ARG(own),
                               RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) });
    copy = rondo_record_copy(g, &(rondo_move_desc){ .name = "move",
                                                    .from = rondo_read(slot, rondo_whole()),
                                                    .to = rondo_write(other, rondo_whole()) });
    many =
        rondo_record_for(g, &(rondo_for_desc){ RONDO_TASK(.name = "many", .fn = change_in_task,
                                                          RONDO_ARG(own), .flags = RONDO_NO_ACCESS),
                                               .range = rondo_span(0, 4), .chunks = { 4 } });
    wait = rondo_record_wait(g, &(rondo_sync_desc){ .name = "wait", .counter = counter });
    patched =
        rondo_record_task(g, &(rondo_task_desc){ .name = "patched",
                                                 .fn = change_in_task,
                                                 RONDO_ARG(own),
                                                 RONDO_PATCHES((rondo_patch){ param, 0, 0, 0, 0 }),
                                                 .flags = RONDO_NO_ACCESS });
    if (!patched.id) { /* a patch of no bytes is refused, too */
        ET_OK(rondo_subgraph_clear_error(g));
        struct put arg = { 0 };
        patched = rondo_record_task(
            g, &(rondo_task_desc){ .name = "patched",
                                   .fn = put,
                                   RONDO_ARG(arg),
                                   RONDO_PATCHES((rondo_patch){ param, 0, 24, 8, 0 }),
                                   .when = { .param = param }, /* 0: never */
                                   .flags = RONDO_NO_ACCESS });
    }
    ET_HANDLE(patched);
    ET_OK(rondo_instantiate(g, NULL, &exec));
    const struct {
        rondo_node node;
        rondo_task_desc desc;
        const char *says[2];
    } refused[] = {
        { task, { .fn = NULL }, { "itself", "fn is NULL" } },
        { task, { .fn = put, .arg_bytes = 8 }, { "itself", "arg_bytes is 8" } },
        { task, { .fn = put, .arg = &zero }, { "itself", "arg_bytes is 0" } },
        { task,
          { .fn = put,
            RONDO_ACCESSES(rondo_read_write(slot, rondo_whole()),
                           rondo_read_write(other, rondo_whole())) },
          { "itself", "access_count is 2" } },
        { task,
          { .fn = put, RONDO_ACCESSES(rondo_read_write(other, rondo_whole())) },
          { "itself", "'x'" } },
        { task, { .fn = put, RONDO_AFTER(copy) }, { "itself", "edges" } },
        { task, { .fn = put, .flags = RONDO_SPMD }, { "itself", "flags" } },
        { copy, { .fn = put }, { "move", "is no task" } },
        { many, { .fn = put }, { "4 nodes", "not for one" } },
        { wait, { .fn = put }, { "wait", "is no task" } },
        { patched, { .fn = put, RONDO_ARG(zero) }, { "patched", "arg_bytes" } },
        { (rondo_node){ param.id }, { .fn = put }, { "no node", "0x" } },
    };
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ET_IS(rondo_exec_update_task(exec, refused[i].node, &refused[i].desc), RONDO_ERR_INVALID);
        ET_SAYS(refused[i].says[0]);
        ET_SAYS(refused[i].says[1]);
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    }
    ET_IS(rondo_exec_enable(exec, (rondo_node){ param.id }, 0), RONDO_ERR_INVALID);
    ET_OK(rondo_exec_destroy(exec));
    ET_IS(rondo_exec_enable(exec, task, 0), RONDO_ERR_STALE);
    ET_IS(rondo_exec_update_task(exec, task, &(rondo_task_desc){ .fn = put }), RONDO_ERR_STALE);
    ET_IS(rondo_exec_touch(exec), RONDO_ERR_STALE);
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_counter_destroy(counter));
    ET_OK(rondo_buffer_destroy(b));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- off and on */

struct chain {
    _Atomic(uint64_t) ran[3][LOGGED], early, chunk[8][LOGGED];
};
static struct chain chain;

static int link_of(rondo_task *self, const void *arg)
{
    uint64_t i = *(const uint64_t *)arg;
    if (i == 0)
        for (int n = 0; n < 20; n++)
            sched_yield();
    if (i == 2 && !atomic_load(&chain.ran[0][self->replay]))
        atomic_fetch_add(&chain.early, 1);
    atomic_fetch_add(&chain.ran[i][self->replay], 1);
    return 0;
}
static int chunk_of(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add(&chain.chunk[rondo_task_chunk(self)->first[0]][self->replay], 1);
    return 0;
}

static void switch_nodes(const struct em_mode *m, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    rondo_instantiate_options o = em_options(m, 4);
    rondo_subgraph g;
    rondo_node node[3], chunks;
    rondo_exec exec;
    const uint64_t rounds = et_scaled(60, 12);
    memset(&chain, 0, sizeof chain);
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (uint64_t i = 0; i < 3; i++)
        node[i] = rondo_record_task(
            g, &(rondo_task_desc){ .fn = link_of,
                                   RONDO_ARG(i),
                                   .after = i ? &node[i - 1] : NULL,
                                   .after_count = i > 0,
                                   .on = workers > 1 && m->schedule != RONDO_SCHEDULE_AUTO
                                             ? RONDO_CPU((uint32_t)i % workers)
                                             : RONDO_ANY_CPU,
                                   .cost_ns = 50000,
                                   .flags = RONDO_NO_ACCESS });
    chunks = rondo_record_for(g, &(rondo_for_desc){ RONDO_TASK(.fn = chunk_of, .cost_ns = 50000,
                                                               .flags = RONDO_NO_ACCESS),
                                                    .range = rondo_span(0, 8), .chunks = { 8 } });
    ET_HANDLE(chunks);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (uint64_t r = 0; r < rounds; r++) {
        ET_OK(rondo_exec_enable(exec, node[1], r % 2 == 0));
        ET_OK(rondo_exec_enable(exec, chunks, r % 4 < 2));
        ET_OK(rondo_exec_enable(exec, chunks, r % 4 < 2)); /* twice is once */
        ET_OK(rondo_replay(exec, NULL, NULL));
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 4 }, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    for (uint64_t i = 0; i < 5 * rounds; i++) {
        cr_assert_eq(atomic_load(&chain.ran[0][i]), 1);
        cr_assert_eq(atomic_load(&chain.ran[1][i]), i / 5 % 2 == 0, "%s: replay %llu", m->name,
                     (unsigned long long)i);
        cr_assert_eq(atomic_load(&chain.ran[2][i]), 1);
        for (int c = 0; c < 8; c++)
            cr_assert_eq(atomic_load(&chain.chunk[c][i]), i / 5 % 4 < 2);
    }
    cr_assert_eq(atomic_load(&chain.early), 0, "%s", m->name);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_retask, nodes_are_switched_off_and_on_and_order_what_they_did)
{
    for (uint32_t k = 0; k < EM_MODES; k++)
        for (uint32_t workers = 1; workers < 4; workers++) {
            EM_TRY(&em_modes[k], workers);
            switch_nodes(&em_modes[k], workers);
        }
    et_alarm(0, "done");
}

/* ---- first touch */

struct gate {
    _Atomic(uint64_t) open, begun;
};
static int pass(rondo_task *self, const void *arg)
{
    struct gate *gate = *(struct gate *const *)arg;
    (void)self;
    atomic_fetch_add(&gate->begun, 1);
    while (!atomic_load(&gate->open))
        sched_yield();
    return 0;
}

static void touch(const struct em_mode *m, uint32_t workers)
{
    enum { N = 40000, ROWS = 60 };
    static double flat[N], boxed[ROWS][700], ringed[2][N];
    rondo_runtime rt = et_runtime(workers);
    rondo_instantiate_options o = em_options(m, 4);
    struct gate gate = { 0 }, *arg = &gate;
    rondo_buffer b[5];
    rondo_slot slot[6];
    rondo_access access[6];
    rondo_subgraph g;
    rondo_exec exec;
    for (int i = 0; i < N; i++)
        flat[i] = ringed[0][i] = ringed[1][i] = i;
    for (int i = 0; i < ROWS * 700; i++)
        boxed[i / 700][i % 700] = i;
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .host = flat, .shape = { 8, { N }, { 0 } } }, &b[0]));
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .host = boxed, .shape = { 8, { 600, ROWS }, { 5600 } } }, &b[1]));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .host = ringed[i], .shape = { 8, { N }, { 0 } } },
            &b[2 + i]));
    ET_OK(
        rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = { 8, { 1 << 20 }, { 0 } } }, &b[4]));
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    slot[0] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b[0] });
    slot[1] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b[1] });
    slot[2] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = &b[2], .ring_count = 2 });
    slot[3] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = b[4] });
    slot[4] = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .flags = RONDO_TEMPORARY, .shape = { 8, { 100 }, { 0 } } });
    slot[5] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .shape = { 0, { 10 }, { 0 } } });
    for (int i = 0; i < 6; i++)
        access[i] = rondo_read_write(slot[i], rondo_whole());
    access[4].mode = RONDO_WRITE;
    access[1] = rondo_write(slot[1], rondo_box(3, 5, 590, 50));
    access[3].flags = RONDO_WRAP;
    access[3].region = rondo_span(0, 100);
    access[3].halo[0] = 8;
    ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .fn = pass,
                                                       RONDO_ARG(arg),
                                                       .accesses = access,
                                                       .access_count = 5 + (m->order == 0) }));
    ET_HANDLE(rondo_record_for(
        g,
        &(rondo_for_desc){ RONDO_TASK(.fn = pass, RONDO_ARG(arg), .cost_ns = 100000,
                                      RONDO_ACCESSES(rondo_chunk(slot[3], RONDO_READ_WRITE, 0, 0))),
                           .range = rondo_span(0, 1 << 20), .chunks = { 8 } }));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_exec_touch(exec));
    ET_OK(rondo_replay(exec, NULL, NULL));
    ET_IS(rondo_exec_touch(exec), RONDO_ERR_AGAIN);
    ET_SAYS("in flight");
    atomic_store(&gate.open, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_exec_touch(exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    ET_OK(rondo_exec_touch(exec));
    ET_OK(rondo_exec_touch(exec));
    cr_assert_eq(atomic_load(&gate.begun), 18);
    for (int i = 0; i < N; i++)
        cr_assert(flat[i] == i && ringed[0][i] == i && ringed[1][i] == i);
    for (int i = 0; i < ROWS * 700; i++)
        cr_assert_eq(boxed[i / 700][i % 700], i);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 5; i++)
        ET_OK(rondo_buffer_destroy(b[i]));
    ET_CLOSE(rt);
}

Test(engine_retask, touching_leaves_what_is_there)
{
    for (uint32_t k = 0; k < EM_ORDERED; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&em_modes[k], workers);
            touch(&em_modes[k], workers);
        }
    et_alarm(0, "done");
}
