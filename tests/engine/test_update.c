/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_exec_update: what was submitted keeps what it had, what differs is refused by name, what
 * the user set stays, and threads may do it all at once. */
#include "tests/engine/every_mode.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LOGGED = 1 << 14 };

struct log {
    _Atomic(uint64_t) open, runs, value[LOGGED];
};
struct note {
    struct log *log;
    uint64_t add;
};

static struct log notes;

static int pass(rondo_task *self, const void *arg)
{
    struct log *log = *(struct log *const *)arg;
    (void)self;
    while (!atomic_load(&log->open))
        sched_yield();
    return 0;
}

static int note(rondo_task *self, const void *arg)
{
    const struct note *n = arg;
    uint64_t param;
    memcpy(&param, rondo_task_param(self, 0), sizeof param);
    atomic_store(&n->log->value[self->replay % LOGGED], n->add + param);
    atomic_fetch_add(&n->log->runs, 1);
    return 0;
}

static int note_more(rondo_task *self, const void *arg)
{
    const struct note *n = arg;
    uint64_t param;
    memcpy(&param, rondo_task_param(self, 0), sizeof param);
    atomic_store(&n->log->value[self->replay % LOGGED], 1 + n->add + param);
    atomic_fetch_add(&n->log->runs, 1);
    return 0;
}

struct version {
    rondo_subgraph g;
    rondo_param param;
    rondo_node gate, note;
};

/* A gate, and a note of `add` and the parameter behind it. */
static struct version record(rondo_runtime rt, rondo_task_fn *fn, uint64_t add, void *context,
                             void (*release)(void *))
{
    struct version v;
    struct log *log = &notes;
    struct note arg = { log, add };
    uint64_t zero = 0;
    char name[32];
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "noted" }, &v.g));
    v.param = rondo_subgraph_param(v.g, "p", sizeof zero, &zero);
    v.gate = rondo_record_task(
        v.g,
        &(rondo_task_desc){ .name = "gate", .fn = pass, RONDO_ARG(log), .flags = RONDO_NO_ACCESS });
    (void)snprintf(name, sizeof name, "note %llu", (unsigned long long)add);
    v.note = rondo_record_task(v.g, &(rondo_task_desc){ .name = name,
                                                        .fn = fn,
                                                        RONDO_ARG(arg),
                                                        RONDO_PARAMS(v.param),
                                                        RONDO_AFTER(v.gate),
                                                        .context = context,
                                                        .release = release,
                                                        .flags = RONDO_NO_ACCESS });
    ET_HANDLE(v.note);
    return v;
}

static void forget_notes(int open)
{
    memset(&notes, 0, sizeof notes);
    atomic_store(&notes.open, (uint64_t)open);
}

static void expect(const struct em_mode *m, uint64_t from, uint64_t to, uint64_t value)
{
    for (uint64_t i = from; i < to; i++)
        cr_assert_eq(atomic_load(&notes.value[i]), value, "%s: replay %llu noted %llu, not %llu",
                     m->name, (unsigned long long)i,
                     (unsigned long long)atomic_load(&notes.value[i]), (unsigned long long)value);
}

static void update(rondo_exec exec, struct version *v)
{
    ET_OK(rondo_exec_update(exec, v->g));
    ET_OK(rondo_subgraph_destroy(v->g));
}

static void replay(rondo_exec exec, int times)
{
    for (int i = 0; i < times; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
}

/* ---- what is queued keeps what it had */

static void update_queued(const struct em_mode *m, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    struct version v1 = record(rt, note, 100, NULL, NULL), v2, v3, v4;
    rondo_instantiate_options o = em_options(m, 8);
    uint64_t seven = 7, nine = 9, fifty = 50, many[20];
    rondo_exec exec;
    rondo_value value;
    forget_notes(0);
    ET_OK(rondo_instantiate(v1.g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(v1.g));
    ET_OK(rondo_exec_set_param(exec, v1.param, &seven));
    replay(exec, 6);
    v2 = record(rt, note_more, 200, NULL, NULL);
    update(exec, &v2);
    replay(exec, 6);
    ET_OK(rondo_exec_set_param(exec, v1.param, &nine)); /* the old one's handle */
    value = (rondo_value){ v2.param, &fifty, 0 };
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .values = &value, .value_count = 1 }, NULL));
    v3 = record(rt, note, 300, NULL, NULL);
    update(exec, &v3);
    for (uint64_t k = 0; k < 20; k++)
        many[k] = k;
    value = (rondo_value){ v3.param, many, sizeof *many };
    ET_OK(rondo_replay(
        exec, &(rondo_replay_args){ .values = &value, .value_count = 1, .count = 20 }, NULL));
    v4 = record(rt, note_more, 400, NULL, NULL);
    update(exec, &v4);
    replay(exec, 3);
    cr_assert_eq(atomic_load(&notes.runs), 0);
    atomic_store(&notes.open, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert_eq(atomic_load(&notes.runs), 37);
    expect(m, 0, 6, 107);
    expect(m, 6, 12, 208);
    expect(m, 12, 14, 251);
    for (uint64_t k = 0; k < 20; k++)
        expect(m, 14 + k, 15 + k, 300 + k);
    expect(m, 34, 37, 410);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(engine_update, queued_replays_keep_what_they_had)
{
    for (uint32_t k = 0; k < EM_MODES; k++)
        for (uint32_t workers = 1; workers < 4; workers++) {
            EM_TRY(&em_modes[k], workers);
            update_queued(&em_modes[k], workers);
        }
    et_alarm(0, "done");
}

/* ---- rings go on */

struct ring {
    void *base[3];
    _Atomic(uint64_t) at[256];
    int64_t fail_at;
};

static int note_ring(rondo_task *self, const void *arg)
{
    struct ring *r = *(struct ring *const *)arg;
    const void *base = rondo_task_write(self, 0);
    for (uint64_t i = 0; i < 3; i++)
        if (base == r->base[i])
            atomic_store(&r->at[self->replay], i + 1);
    return (int64_t)self->replay == r->fail_at ? rondo_task_fail(self, "as asked") : 0;
}

static rondo_subgraph record_ring(rondo_runtime rt, struct ring *r, const rondo_buffer *buffers)
{
    rondo_subgraph g;
    rondo_slot slot;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .ring = buffers, .ring_count = 3 });
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .name = "ring",
                               .fn = note_ring,
                               RONDO_ARG(r),
                               RONDO_ACCESSES(rondo_read_write(slot, rondo_whole())) }));
    return g;
}

static void check_ring(const struct em_mode *m, const struct ring *r, uint64_t from, uint64_t to,
                       uint64_t first)
{
    for (uint64_t i = from; i < to; i++)
        cr_assert_eq(atomic_load(&r->at[i]), (first + i - from) % 3 + 1, "%s: replay %llu", m->name,
                     (unsigned long long)i);
}

static void update_ring(const struct em_mode *m, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    rondo_buffer b[3];
    double data[3][4] = { { 0 } };
    struct ring ring = { .fail_at = 25 };
    rondo_instantiate_options o = em_options(m, 4);
    rondo_subgraph g;
    rondo_exec exec;
    for (int i = 0; i < 3; i++) {
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .host = data[i], .shape = { 8, { 4 }, { 0 } } }, &b[i]));
        ring.base[i] = data[i];
    }
    g = record_ring(rt, &ring, b);
    ET_OK(rondo_instantiate(g, &o, &exec));
    replay(exec, 10);
    ET_OK(rondo_exec_update(exec, g));
    replay(exec, 10);
    ET_OK(rondo_exec_update(exec, g));
    replay(exec, 6); /* the last one fails */
    replay(exec, 4); /* cancelled */
    ET_OK(rondo_exec_update(exec, g));
    ET_IS(rondo_exec_wait(exec, NULL), RONDO_ERR_FAILED);
    replay(exec, 2); /* cancelled */
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = 10 }, NULL));
    ET_OK(rondo_exec_update(exec, g));
    replay(exec, 2);
    ET_OK(rondo_exec_wait(exec, NULL));
    check_ring(m, &ring, 0, 26, 0);
    /* Pipelined, what shares no buffer with the one that fails may have begun before. */
    for (int i = m->order == RONDO_PIPELINED ? 28 : 26; i < 32; i++)
        cr_assert_eq(atomic_load(&ring.at[i]), 0, "%s %d", m->name, i);
    check_ring(m, &ring, 32, 44, 26);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_buffer_destroy(b[i]));
    ET_CLOSE(rt);
}

Test(engine_update, rings_go_on)
{
    for (uint32_t k = 0; k < EM_ORDERED; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&em_modes[k], workers);
            update_ring(&em_modes[k], workers);
        }
    et_alarm(0, "done");
}

/* ---- what differs is refused by name */

struct shape {
    const char *says[2]; /* in the message */
    int edge, nodes, mode, first, bytes, ring, distance, name, slots;
};

static int add_one(rondo_task *self, const void *arg)
{
    double *at = rondo_task_write(self, 0);
    (void)arg;
    at[0] += 1;
    return 0;
}
static int add_two(rondo_task *self, const void *arg)
{
    double *at = rondo_task_write(self, 0);
    at[0] += arg ? *(const double *)arg : 2;
    return 0;
}

static rondo_subgraph record_shape(rondo_runtime rt, const rondo_buffer *b, const struct shape *s,
                                   rondo_task_fn *fn)
{
    rondo_subgraph g;
    rondo_slot slot[3];
    rondo_node from, to;
    double by = 5, initial[2] = { 0 };
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "shaped" }, &g));
    slot[0] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "x", .buffer = b[0] });
    slot[1] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "y",
                                                         .ring = (rondo_buffer[]){ b[1], b[2] },
                                                         .ring_count = 2 - (uint32_t)s->ring });
    for (int i = 0; i < s->slots; i++)
        slot[2] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "z", .buffer = b[3] });
    ET_HANDLE(slot[1]);
    ET_HANDLE(rondo_subgraph_param(g, "p", 8 + (size_t)s->bytes, initial));
    from = rondo_record_task(
        g, &(rondo_task_desc){ .name = "first",
                               .fn = fn,
                               RONDO_ARG(by),
                               RONDO_ACCESSES(rondo_read_write(slot[0], rondo_span(0, 2))) });
    to = rondo_record_task(g, &(rondo_task_desc){ .name = s->name ? "renamed" : "second",
                                                  .fn = add_one,
                                                  RONDO_ACCESSES(rondo_access_of(
                                                      slot[1], RONDO_READ_WRITE - (unsigned)s->mode,
                                                      rondo_span(s->first, 2))) });
    if (s->edge)
        ET_OK(rondo_record_edge(g, from, to, 0));
    ET_OK(rondo_record_edge(g, from, to, 1 + (uint32_t)s->distance));
    for (int i = 0; i < s->nodes; i++)
        ET_HANDLE(rondo_record_task(
            g, &(rondo_task_desc){ .name = "third", .fn = add_one, .flags = RONDO_NO_ACCESS }));
    (void)slot[2];
    return g;
}

static const struct shape shapes[] = {
    { { "second", "predecessors" }, .edge = 1 },
    { { "nodes", "3" }, .nodes = 1 },
    { { "second", "mode" }, .mode = 2 },
    { { "second", "region" }, .first = 1 },
    { { "parameter", "'p'" }, .bytes = 8 },
    { { "slot 1 'y'", "ring" }, .ring = 1 },
    { { "slots", "3" }, .slots = 1 },
};

static void refuse(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    double data[4][8] = { { 0 } };
    const struct shape same = { .name = 1 };
    rondo_buffer b[4];
    rondo_subgraph g;
    rondo_exec exec;
    for (int i = 0; i < 4; i++)
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .host = data[i], .shape = { 8, { 8 }, { 0 } } }, &b[i]));
    g = record_shape(rt, b, &(struct shape){ .name = 0 }, add_one);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        g = record_shape(rt, b, &shapes[i], add_one);
        ET_IS(rondo_exec_update(exec, g), RONDO_ERR_INVALID);
        ET_SAYS("shaped");
        ET_SAYS(shapes[i].says[0]);
        ET_SAYS(shapes[i].says[1]);
        ET_OK(rondo_subgraph_destroy(g));
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        cr_assert_eq(data[0][0], i + 1.0);
    }
    if (m->order == RONDO_PIPELINED) { /* else no edge is carried */
        g = record_shape(rt, b, &(struct shape){ .distance = 1 }, add_one);
        ET_IS(rondo_exec_update(exec, g), RONDO_ERR_INVALID);
        ET_SAYS("carried");
        ET_OK(rondo_subgraph_destroy(g));
    }
    data[0][0] = 0;
    g = record_shape(rt, b, &same, add_two); /* another function, argument and name */
    ET_OK(rondo_exec_update(exec, g));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert_eq(data[0][0], 5);
    { /* other buffers: x is another's now */
        rondo_buffer other[4] = { b[3], b[1], b[2], b[0] };
        g = record_shape(rt, other, &same, add_one);
        ET_OK(rondo_exec_update(exec, g));
        ET_OK(rondo_subgraph_destroy(g));
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        cr_assert_eq(data[0][0], 5);
        cr_assert_eq(data[3][0], 1);
    }
    ET_OK(rondo_exec_destroy(exec));
    ET_IS(rondo_exec_update(exec, g), RONDO_ERR_STALE);
    for (int i = 0; i < 4; i++)
        ET_OK(rondo_buffer_destroy(b[i]));
    ET_CLOSE(rt);
}

Test(engine_update, another_structure_is_refused_by_name)
{
    for (uint32_t k = 0; k < EM_ORDERED; k++) {
        EM_TRY(&em_modes[k], 2);
        refuse(&em_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- handles */

static int note_bound(rondo_task *self, const void *arg)
{
    double *to = rondo_task_write(self, 0);
    (void)arg;
    memcpy(to, rondo_task_param(self, 0), sizeof *to);
    return 0;
}

struct handles {
    rondo_slot slot;
    rondo_param param;
    rondo_node node;
};

Test(engine_update, handles_of_older_recordings_still_work)
{
    enum { VERSIONS = 12 };
    rondo_runtime rt = et_runtime(2);
    struct handles h[VERSIONS];
    rondo_exec exec = { 0 };
    rondo_buffer b;
    double data[4] = { 0 }, value;
    et_alarm(60, "%s", __func__);
    ET_OK(rondo_buffer_create(
        rt, &(rondo_buffer_desc){ .host = data, .shape = { 8, { 4 }, { 0 } } }, &b));
    for (int i = 0; i < VERSIONS; i++) {
        rondo_subgraph g;
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        h[i].slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .shape = { 8, { 4 }, { 0 } } });
        h[i].param = rondo_subgraph_param(g, "p", sizeof value, NULL);
        h[i].node = rondo_record_task(
            g, &(rondo_task_desc){ .fn = note_bound,
                                   RONDO_PARAMS(h[i].param),
                                   RONDO_ACCESSES(rondo_write(h[i].slot, rondo_whole())) });
        ET_HANDLE(h[i].node);
        if (i)
            ET_OK(rondo_exec_update(exec, g));
        else
            ET_OK(rondo_instantiate(g, NULL, &exec));
        ET_OK(rondo_subgraph_destroy(g));
        /* The first one's, and the latest. */
        for (int k = 0; k <= i; k = k ? k + 1 : i > 4 ? i - 4 : 1) {
            rondo_node_info info;
            value = 10 * i + k;
            ET_OK(rondo_replay_and_wait(
                exec,
                &(rondo_replay_args){ .values = &(rondo_value){ h[k].param, &value, 0 },
                                      .value_count = 1,
                                      .bindings = &(rondo_binding){ h[k].slot, b },
                                      .binding_count = 1 },
                -1, NULL));
            cr_assert_eq(data[0], value);
            ET_OK(rondo_exec_node_info(exec, h[k].node, &info));
            ET_OK(rondo_exec_enable(exec, h[k].node, 1));
            /* One kind is not taken for another. */
            ET_IS(rondo_exec_set_param(exec, (rondo_param){ h[k].slot.id }, &value),
                  RONDO_ERR_INVALID);
            ET_IS(rondo_exec_node_info(exec, (rondo_node){ h[k].slot.id }, &info),
                  RONDO_ERR_INVALID);
        }
    }
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_buffer_destroy(b));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- contexts are released once, when the last replay that has them is over */

static void count_release(void *context) { atomic_fetch_add((_Atomic(uint64_t) *)context, 1); }

static void release_in_time(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    _Atomic(uint64_t) released[3] = { 0 };
    struct version v = record(rt, note, 1, &released[0], count_release);
    rondo_exec exec;
    forget_notes(0);
    ET_OK(rondo_instantiate(v.g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(v.g));
    replay(exec, 2);
    v = record(rt, note, 2, &released[1], count_release);
    update(exec, &v);
    cr_assert_eq(atomic_load(&released[0]), 0); /* replays that have it are in flight */
    atomic_store(&notes.open, 1);
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_runtime_drain(rt));
    cr_assert_eq(atomic_load(&released[0]), 1);
    cr_assert_eq(atomic_load(&released[1]), 0);
    replay(exec, 2);
    v = record(rt, note, 3, &released[2], count_release);
    ET_OK(rondo_exec_update(exec, v.g));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_runtime_drain(rt));
    cr_assert_eq(atomic_load(&released[1]), 1);
    cr_assert_eq(atomic_load(&released[2]), 0); /* the subgraph has it */
    ET_OK(rondo_subgraph_destroy(v.g));
    ET_OK(rondo_runtime_drain(rt));
    for (int i = 0; i < 3; i++)
        cr_assert_eq(atomic_load(&released[i]), 1, "%s: context %d", m->name, i);
    ET_CLOSE(rt);
}

Test(engine_update, contexts_are_released_once)
{
    for (uint32_t k = 0; k < EM_MODES; k++) {
        EM_TRY(&em_modes[k], 2);
        release_in_time(&em_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- failures of an older version */

static int fail_at_two(rondo_task *self, const void *arg)
{
    (void)arg;
    return self->replay == 2 ? rondo_task_fail(self, "version one") : 0;
}
static int never_fail(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_subgraph record_failing(rondo_runtime rt, const char *name, rondo_task_fn *fn)
{
    rondo_subgraph g;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .name = name, .tag = 77, .fn = fn, .flags = RONDO_NO_ACCESS }));
    return g;
}

static void fail_and_update(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    rondo_subgraph one = record_failing(rt, "old", fail_at_two),
                   two = record_failing(rt, "new", never_fail);
    rondo_event event[6];
    rondo_result result;
    rondo_exec exec;
    ET_OK(rondo_instantiate(one, &o, &exec));
    for (int i = 0; i < 4; i++)
        ET_OK(rondo_replay(exec, NULL, &event[i]));
    ET_OK(rondo_exec_update(exec, two));
    ET_IS(rondo_exec_wait(exec, &result), RONDO_ERR_FAILED);
    cr_assert_str_eq(result.node, "old");
    cr_assert_str_eq(result.message, "version one");
    ET_OK(rondo_replay(exec, NULL, &event[4]));
    ET_OK(rondo_event_wait(event[4], -1));
    ET_OK(rondo_exec_reset(exec));
    ET_OK(rondo_replay(exec, NULL, &event[5]));
    ET_OK(rondo_event_wait(event[5], -1));
    ET_OK(rondo_runtime_drain(rt)); /* the old version is gone */
    for (int i = 0; i < 6; i++) {
        ET_OK(rondo_event_result(event[i], &result));
        cr_assert_eq(result.status, i == 2             ? RONDO_ERR_FAILED
                                    : i == 3 || i == 4 ? RONDO_ERR_CANCELLED
                                                       : RONDO_OK);
        cr_assert_eq(result.replay, (uint64_t)i, "%s: %d: %llu", m->name, i,
                     (unsigned long long)result.replay);
        if (i >= 2 && i < 5)
            cr_assert_str_eq(result.node, "old");
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(one));
    ET_OK(rondo_subgraph_destroy(two));
    ET_CLOSE(rt);
}

Test(engine_update, results_of_older_versions_are_kept)
{
    for (uint32_t k = 0; k < EM_ORDERED; k++) {
        EM_TRY(&em_modes[k], 2);
        fail_and_update(&em_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- the mode that was set stays */

static void read_line(void *context, const char *text)
{
    strncat(context, text, 8191 - strlen(context));
}

static int says(rondo_exec exec, const char *what)
{
    char page[8192] = "";
    ET_OK(rondo_exec_describe(exec, read_line, page));
    return strstr(page, what) != NULL;
}

Test(engine_update, a_mode_that_was_set_stays)
{
    rondo_runtime rt = et_runtime(2);
    et_alarm(60, "%s", __func__);
    for (uint32_t k = 0; k < EM_ORDERED; k++) {
        rondo_instantiate_options o = em_options(&em_modes[k], 4);
        rondo_subgraph g = record_failing(rt, "plain", never_fail);
        rondo_exec exec;
        ET_OK(rondo_instantiate(g, &o, &exec));
        ET_OK(rondo_exec_set_mode(exec, RONDO_INTERPRETED));
        ET_OK(rondo_exec_update(exec, g));
        cr_assert(says(exec, "interpreted now"), "%s", em_modes[k].name);
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        ET_OK(rondo_exec_set_mode(exec, RONDO_COMPILED));
        ET_OK(rondo_exec_update(exec, g));
        cr_assert(says(exec, "compiled now"), "%s", em_modes[k].name);
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        ET_OK(rondo_exec_set_mode(exec, RONDO_AUTO));
        ET_OK(rondo_exec_update(exec, g));
        cr_assert_eq(says(exec, "interpreted now"), em_modes[k].mode == RONDO_INTERPRETED);
        ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(g));
    }
    ET_CLOSE(rt);
    et_alarm(0, "done");
}

/* ---- threads */

struct crowd {
    rondo_exec exec;
    struct version v[2];
    uint64_t rounds;
    _Atomic(uint64_t) submitted, stop;
};

static void *submit_many(void *context)
{
    struct crowd *c = context;
    for (uint64_t i = 0; i < c->rounds; i++) {
        uint64_t count = i % 5 == 4 ? 7 : 1;
        ET_OK(rondo_replay(c->exec, &(rondo_replay_args){ .count = count }, NULL));
        atomic_fetch_add(&c->submitted, count);
        if (i % 16 == 0)
            ET_OK(rondo_exec_wait(c->exec, NULL));
    }
    return NULL;
}

static void *update_many(void *context)
{
    struct crowd *c = context;
    for (uint64_t i = 0; !atomic_load(&c->stop); i++) {
        ET_OK(rondo_exec_update(c->exec, c->v[i % 2].g));
        if (i % 3 == 0)
            ET_OK(rondo_exec_set_param(c->exec, c->v[i % 2].param, &(uint64_t){ 1000 }));
        if (i % 7 == 0)
            ET_OK(rondo_exec_set_mode(c->exec, (uint32_t)(i / 7 % 3)));
        if (i % 5 == 0) {
            ET_OK(rondo_exec_enable(c->exec, c->v[0].note, 1));
            rondo_exec_counts counts;
            ET_OK(rondo_exec_count(c->exec, &counts));
        }
        sched_yield();
    }
    return NULL;
}

static void crowd(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    struct crowd c = { .rounds = et_scaled(300, 30) };
    pthread_t submitter[2], updater[2];
    if (m->mode == RONDO_COMPILED)
        o.mode = RONDO_AUTO;
    forget_notes(1);
    c.v[0] = record(rt, note, 100, NULL, NULL);
    c.v[1] = record(rt, note_more, 200, NULL, NULL);
    ET_OK(rondo_instantiate(c.v[0].g, &o, &c.exec));
    for (int i = 0; i < 2; i++)
        cr_assert(!pthread_create(&submitter[i], NULL, submit_many, &c));
    for (int i = 0; i < 2; i++)
        cr_assert(!pthread_create(&updater[i], NULL, update_many, &c));
    for (int i = 0; i < 2; i++)
        pthread_join(submitter[i], NULL);
    atomic_store(&c.stop, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(updater[i], NULL);
    ET_OK(rondo_exec_wait(c.exec, NULL));
    cr_assert_eq(atomic_load(&notes.runs), atomic_load(&c.submitted), "%s", m->name);
    for (uint64_t i = 0; i < atomic_load(&c.submitted) && i < LOGGED; i++) {
        uint64_t v = atomic_load(&notes.value[i]) % 1000;
        cr_assert(v == 100 || v == 201, "%s: replay %llu noted %llu", m->name,
                  (unsigned long long)i, (unsigned long long)v);
    }
    ET_OK(rondo_exec_destroy(c.exec));
    ET_OK(rondo_subgraph_destroy(c.v[0].g));
    ET_OK(rondo_subgraph_destroy(c.v[1].g));
    ET_CLOSE(rt);
}

Test(engine_update, threads_submit_while_others_update)
{
    for (uint32_t k = 0; k < EM_MODES; k++) {
        EM_TRY(&em_modes[k], 2);
        crowd(&em_modes[k]);
    }
    et_alarm(0, "done");
}

static void *update_until_stale(void *context)
{
    struct crowd *c = context;
    rondo_status status;
    do
        status = rondo_exec_update(c->exec, c->v[1].g);
    while (!status);
    return (void *)(intptr_t)status;
}

Test(engine_update, an_exec_is_destroyed_while_it_is_updated)
{
    rondo_runtime rt = et_runtime(2);
    struct crowd c = { .rounds = et_scaled(60, 10) };
    et_alarm(120, "%s", __func__);
    forget_notes(1);
    c.v[0] = record(rt, note, 100, NULL, NULL);
    c.v[1] = record(rt, note_more, 200, NULL, NULL);
    for (uint64_t i = 0; i < c.rounds; i++) {
        rondo_instantiate_options o = em_options(&em_modes[i % EM_MODES], 4);
        pthread_t updater[2];
        void *status;
        ET_OK(rondo_instantiate(c.v[0].g, &o, &c.exec));
        replay(c.exec, 3);
        for (int k = 0; k < 2; k++)
            cr_assert(!pthread_create(&updater[k], NULL, update_until_stale, &c));
        for (uint64_t k = 0; k < i % 8; k++)
            replay(c.exec, 1);
        ET_OK(rondo_exec_destroy(c.exec));
        for (int k = 0; k < 2; k++) {
            pthread_join(updater[k], &status);
            cr_assert_eq((rondo_status)(intptr_t)status, RONDO_ERR_STALE, "%s",
                         rondo_status_string((rondo_status)(intptr_t)status));
        }
    }
    ET_OK(rondo_subgraph_destroy(c.v[0].g));
    ET_OK(rondo_subgraph_destroy(c.v[1].g));
    ET_CLOSE(rt);
    et_alarm(0, "done");
}
