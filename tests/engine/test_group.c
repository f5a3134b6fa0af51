/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: several subgraphs over the same memory, replayed at will as one program would run them.
 */
#include "tests/engine/every_mode.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 64, CHUNKS = 8 };

static const struct em_mode group_modes[] = {
    { "interpreted serial", RONDO_INTERPRETED, RONDO_SERIAL, RONDO_SCHEDULE_AUTO },
    { "interpreted pipelined", RONDO_INTERPRETED, RONDO_PIPELINED, RONDO_STATIC },
    { "compiled serial", RONDO_COMPILED, RONDO_SERIAL, RONDO_STATIC },
    { "compiled pipelined", RONDO_COMPILED, RONDO_PIPELINED, RONDO_SCHEDULE_AUTO },
};
enum { GROUP_MODES = sizeof group_modes / sizeof *group_modes };

static void replay(rondo_exec exec, uint64_t count)
{
    ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = count }, NULL));
}

/* ---- case 29: a step that advances particles through neighbours, and what rebuilds the table of
 * neighbours every 20th step */

struct cells {
    double x[CELLS], next[CELLS];
    int64_t table[CELLS];
};

static void move_range(struct cells *c, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count; i++)
        c->next[i] = 0.5 * c->x[i] + 0.25 * c->x[c->table[i]] + 1;
}
static void settle_range(struct cells *c, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count; i++)
        c->x[i] = c->next[i];
}
static void build_range(struct cells *c, int64_t from, int64_t count)
{
    for (int64_t i = from; i < from + count; i++)
        c->table[i] = (c->table[i] * 7 + (int64_t)c->x[i] + i) % CELLS;
}

static int part(rondo_task *self, const void *arg)
{
    void (*fn)(struct cells *, int64_t, int64_t);
    const rondo_region *r = rondo_task_chunk(self);
    memcpy(&fn, arg, sizeof fn);
    fn(rondo_task_context(self), r->first[0], r->count[0]);
    return 0;
}

static void record_part(rondo_subgraph g, struct cells *c,
                        void (*fn)(struct cells *, int64_t, int64_t), const rondo_access *accesses,
                        uint32_t count)
{
    ET_HANDLE(rondo_record_for(
        g,
        &(rondo_for_desc){ RONDO_TASK(.fn = part, RONDO_ARG(fn), .context = c, .accesses = accesses,
                                      .access_count = count, .cost_ns = 20000),
                           .range = rondo_span(0, CELLS), .chunks = { CHUNKS } }));
}

struct rebuilt {
    struct cells cells;
    rondo_buffer b[3];
    rondo_subgraph g[2];
    rondo_exec exec[2];
};

static void make_rebuilt(rondo_runtime rt, struct rebuilt *r, const rondo_instantiate_options *o)
{
    void *at[3] = { r->cells.x, r->cells.next, r->cells.table };
    rondo_slot s[3];
    memset(&r->cells, 0, sizeof r->cells);
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .host = at[i], .shape = { 8, { CELLS }, { 0 } } }, &r->b[i]));
    for (int k = 0; k < 2; k++) {
        ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = k ? "rebuild" : "step" },
                                    &r->g[k]));
        for (int i = 0; i < 3; i++)
            s[i] = rondo_subgraph_slot(r->g[k], &(rondo_slot_desc){ .buffer = r->b[i] });
        if (k) {
            rondo_access a[] = { rondo_read(s[0], rondo_whole()),
                                 rondo_chunk(s[2], RONDO_READ_WRITE, 0, 0) };
            record_part(r->g[k], &r->cells, build_range, a, 2);
        } else {
            rondo_access a[] = { rondo_read(s[0], rondo_whole()),
                                 rondo_chunk(s[2], RONDO_READ, 0, 0),
                                 rondo_chunk(s[1], RONDO_WRITE, 0, 0) },
                         b[] = { rondo_chunk(s[1], RONDO_READ, 0, 0),
                                 rondo_chunk(s[0], RONDO_WRITE, 0, 0) };
            record_part(r->g[k], &r->cells, move_range, a, 3);
            record_part(r->g[k], &r->cells, settle_range, b, 2);
        }
    }
    ET_OK(rondo_instantiate_group(r->g, 2, o, r->exec));
    for (int k = 0; k < 2; k++)
        ET_OK(rondo_subgraph_destroy(r->g[k]));
}

static void end_rebuilt(struct rebuilt *r)
{
    for (int k = 0; k < 2; k++)
        ET_OK(rondo_exec_destroy(r->exec[k]));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_buffer_destroy(r->b[i]));
}

static uint64_t boundaries(const struct rebuilt *r)
{
    uint64_t sum = 0;
    for (int k = 0; k < 2; k++) {
        rondo_exec_counts c;
        ET_OK(rondo_exec_count(r->exec[k], &c));
        sum += c.serial_boundaries;
    }
    return sum;
}

static void rebuild(const struct em_mode *m, uint32_t workers, int batched)
{
    enum { REBUILDS = 30, EVERY = 20 };
    static struct rebuilt r;
    static struct cells plain;
    rondo_runtime rt = et_runtime(workers);
    rondo_instantiate_options o = em_options(m, 8);
    make_rebuilt(rt, &r, &o);
    memset(&plain, 0, sizeof plain);
    for (int k = 0; k < REBUILDS; k++) {
        replay(r.exec[1], 1);
        build_range(&plain, 0, CELLS);
        if (batched)
            replay(r.exec[0], EVERY);
        for (int i = 0; i < EVERY; i++) {
            if (!batched)
                ET_OK(rondo_replay(r.exec[0], NULL, NULL));
            move_range(&plain, 0, CELLS);
            settle_range(&plain, 0, CELLS);
        }
    }
    ET_OK(rondo_exec_wait(r.exec[0], NULL));
    cr_assert(!memcmp(&plain, &r.cells, sizeof plain), "%s, %u workers", m->name, workers);
    if (m->order == RONDO_PIPELINED && m->mode == RONDO_COMPILED)
        cr_assert_leq(boundaries(&r), 2 * REBUILDS, "%llu", (unsigned long long)boundaries(&r));
    end_rebuilt(&r);
    ET_CLOSE(rt);
}

Test(engine_group, two_that_alternate_are_as_the_plain_loop)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++)
        for (uint32_t workers = 1; workers < 4; workers++)
            for (int batched = 0; batched < 2; batched++) {
                EM_TRY(&group_modes[k], workers);
                rebuild(&group_modes[k], workers, batched);
            }
    et_alarm(0, "done");
}

/* ---- one numbering, one window, one failure */

struct seen {
    _Atomic(uint64_t) open, begun, by[4096];
    _Atomic(int64_t) fail_at;
};
static struct seen seen;

static int see(rondo_task *self, const void *arg)
{
    atomic_fetch_add(&seen.begun, 1);
    while (!atomic_load(&seen.open))
        sched_yield();
    atomic_fetch_add(&seen.by[self->replay], 1 + *(const uint64_t *)arg);
    return (int64_t)self->replay == atomic_load(&seen.fail_at) ? rondo_task_fail(self, "asked to")
                                                               : 0;
}

static rondo_subgraph record_seen(rondo_runtime rt, uint64_t which)
{
    rondo_subgraph g;
    char name[16];
    (void)snprintf(name, sizeof name, "see %llu", (unsigned long long)which);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = name }, &g));
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .name = name, .tag = which, .fn = see, RONDO_ARG(which) }));
    return g;
}

static void make_seen(rondo_runtime rt, const struct em_mode *m, uint32_t window, uint32_t count,
                      rondo_exec *execs)
{
    rondo_instantiate_options o = em_options(m, window);
    rondo_subgraph g[16];
    memset(&seen, 0, sizeof seen);
    atomic_store(&seen.open, 1);
    atomic_store(&seen.fail_at, -1);
    for (uint32_t i = 0; i < count; i++)
        g[i] = record_seen(rt, i);
    ET_OK(rondo_instantiate_group(g, count, &o, execs));
    for (uint32_t i = 0; i < count; i++)
        ET_OK(rondo_subgraph_destroy(g[i]));
}

static void number(const struct em_mode *m, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    rondo_exec exec[3];
    rondo_event event[60];
    rondo_result result;
    uint64_t at = 0;
    make_seen(rt, m, 4, 3, exec);
    for (uint64_t i = 0; i < 60; i++) { /* calls of 1 and of 5 replays by turns */
        uint64_t count = i % 4 == 3 ? 5 : 1;
        ET_OK(rondo_replay(exec[i % 3], &(rondo_replay_args){ .count = count }, &event[i]));
    }
    ET_OK(rondo_exec_wait(exec[2], NULL));
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t count = i % 4 == 3 ? 5 : 1;
        for (uint64_t k = 0; k < count; k++, at++)
            cr_assert_eq(atomic_load(&seen.by[at]), 1 + i % 3, "%s: replay %llu was of %llu",
                         m->name, (unsigned long long)at,
                         (unsigned long long)atomic_load(&seen.by[at]));
        ET_OK(rondo_event_wait(event[i], 0));
        ET_OK(rondo_event_result(event[i], &result));
        cr_assert_eq(result.replay, at - 1);
        cr_assert_eq(result.replays_run, at);
    }
    for (int i = 0; i < 3; i++) {
        ET_OK(rondo_replay_and_wait(exec[i], NULL, -1, &result));
        cr_assert_eq(result.replay, at++);
    }
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_CLOSE(rt);
}

Test(engine_group, replays_have_one_numbering)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&group_modes[k], workers);
            number(&group_modes[k], workers);
        }
    et_alarm(0, "done");
}

static void fail_one(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec[3];
    rondo_event event[10];
    rondo_result result;
    make_seen(rt, m, 4, 3, exec);
    atomic_store(&seen.fail_at, 4); /* of exec 1 */
    for (int i = 0; i < 8; i++)
        ET_OK(rondo_replay(exec[i % 3], NULL, &event[i]));
    for (int i = 0; i < 3; i++) { /* whichever is asked */
        ET_IS(rondo_exec_wait(exec[i], &result), RONDO_ERR_FAILED);
        cr_assert_str_eq(result.node, "see 1");
        cr_assert_eq(result.tag, 1);
        cr_assert_eq(result.replay, 4);
        cr_assert_str_eq(result.message, "asked to");
    }
    ET_IS(rondo_replay_and_wait(exec[2], NULL, -1, &result), RONDO_ERR_CANCELLED);
    cr_assert_str_eq(result.node, "see 1");
    ET_OK(rondo_exec_reset(exec[0])); /* of all of them */
    ET_OK(rondo_replay_and_wait(exec[2], NULL, -1, NULL));
    ET_OK(rondo_replay(exec[1], &(rondo_replay_args){ .count = 3 }, &event[9]));
    ET_OK(rondo_event_wait(event[9], -1));
    for (int i = 0; i < 13; i++)
        cr_assert_eq(atomic_load(&seen.by[i]) != 0, i < 5 || i > 8, "%s: replay %d", m->name, i);
    for (int i = 0; i < 8; i++) {
        ET_OK(rondo_event_result(event[i], &result));
        cr_assert_eq(result.status, i < 4    ? RONDO_OK
                                    : i == 4 ? RONDO_ERR_FAILED
                                             : RONDO_ERR_CANCELLED);
    }
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_CLOSE(rt);
}

Test(engine_group, a_failure_cancels_the_others_too)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++) {
        EM_TRY(&group_modes[k], 2);
        fail_one(&group_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- a ring goes on whichever uses it */

struct turns {
    void *base[3];
    _Atomic(uint64_t) at[256];
};
static struct turns turns;

static int note_turn(rondo_task *self, const void *arg)
{
    const void *base = rondo_task_write(self, 0);
    (void)arg;
    for (uint64_t i = 0; i < 3; i++)
        if (base == turns.base[i])
            atomic_store(&turns.at[self->replay], i + 1);
    return 0;
}

static void turn(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = em_options(m, 4);
    static double data[3][8];
    rondo_buffer b[3];
    rondo_subgraph g[3];
    rondo_exec exec[3];
    for (int i = 0; i < 3; i++) {
        turns.base[i] = data[i];
        ET_OK(rondo_buffer_create(
            rt, &(rondo_buffer_desc){ .host = data[i], .shape = { 8, { 8 }, { 0 } } }, &b[i]));
    }
    memset((void *)turns.at, 0, sizeof turns.at);
    for (int i = 0; i < 2; i++) {
        rondo_slot s;
        ET_OK(rondo_subgraph_create(rt, NULL, &g[i]));
        s = rondo_subgraph_slot(g[i], &(rondo_slot_desc){ .ring = b, .ring_count = 3 });
        ET_HANDLE(rondo_record_task(
            g[i], &(rondo_task_desc){ .fn = note_turn,
                                      RONDO_ACCESSES(rondo_read_write(s, rondo_whole())) }));
    }
    g[2] = record_seen(rt, 0); /* has none; counts all the same */
    memset(&seen, 0, sizeof seen);
    atomic_store(&seen.open, 1);
    atomic_store(&seen.fail_at, 20);
    ET_OK(rondo_instantiate_group(g, 3, &o, exec));
    for (int i = 0; i < 20; i++)
        ET_OK(rondo_replay(exec[i % 3], NULL, NULL));
    ET_OK(rondo_replay(exec[2], NULL, NULL)); /* fails */
    replay(exec[0], 7);                       /* cancelled */
    ET_IS(rondo_exec_wait(exec[1], NULL), RONDO_ERR_FAILED);
    ET_OK(rondo_exec_reset(exec[1]));
    for (int i = 0; i < 20; i++)
        replay(exec[i % 2], 1 + (uint64_t)i % 3 % 2);
    ET_OK(rondo_exec_wait(exec[1], NULL));
    for (uint64_t i = 0; i < 20; i++)
        if (i % 3 != 2)
            cr_assert_eq(atomic_load(&turns.at[i]), i % 3 + 1);
    for (uint64_t i = 28; i < 48; i++) /* 7 did not run */
        cr_assert_eq(atomic_load(&turns.at[i]), (i - 7) % 3 + 1, "%s: replay %llu", m->name,
                     (unsigned long long)i);
    for (int i = 0; i < 3; i++) {
        ET_OK(rondo_exec_destroy(exec[i]));
        ET_OK(rondo_subgraph_destroy(g[i]));
        ET_OK(rondo_buffer_destroy(b[i]));
    }
    ET_CLOSE(rt);
}

Test(engine_group, rings_count_the_replays_of_all)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++) {
        EM_TRY(&group_modes[k], 2);
        turn(&group_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- the window, and the end of one */

static void fill_window(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec[2];
    rondo_replay_args no_wait = { .flags = RONDO_NO_WAIT };
    uint64_t taken = 0;
    rondo_status status;
    make_seen(rt, m, 4, 2, exec);
    atomic_store(&seen.open, 0);
    /* One that has replays in flight, and is not the latest, takes no more before they ended. */
    ET_OK(rondo_replay(exec[0], &no_wait, NULL));
    ET_OK(rondo_replay(exec[1], &no_wait, NULL));
    ET_IS(rondo_replay(exec[0], &no_wait, NULL), RONDO_ERR_AGAIN);
    while ((status = rondo_replay(exec[1], &no_wait, NULL)) == RONDO_OK && taken < 100)
        taken++;
    cr_assert_eq(status, RONDO_ERR_AGAIN);
    cr_assert_eq(taken, 3, "%s: %llu", m->name, (unsigned long long)taken);
    atomic_store(&seen.open, 1);
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_exec_wait(exec[i], NULL));
    ET_OK(rondo_replay(exec[0], &no_wait, NULL));
    ET_OK(rondo_exec_wait(exec[1], NULL));
    cr_assert_eq(atomic_load(&seen.begun), 6);
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_CLOSE(rt);
}

Test(engine_group, a_full_window_is_told_from_one_that_is_not)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++) {
        EM_TRY(&group_modes[k], 2);
        fill_window(&group_modes[k]);
    }
    et_alarm(0, "done");
}

/* The members end one after the other, in every order, the first with a replay in flight. */
static void end_members(const struct em_mode *m, int first, int step)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec[3];
    rondo_event of_first, of_next;
    rondo_result result;
    make_seen(rt, m, 4, 3, exec);
    atomic_store(&seen.open, 0);
    ET_OK(rondo_replay(exec[first], NULL, &of_first));
    ET_OK(rondo_exec_destroy(exec[first]));
    ET_IS(rondo_replay(exec[first], NULL, NULL), RONDO_ERR_STALE);
    ET_OK(rondo_replay(exec[(first + step) % 3], NULL, &of_next));
    atomic_store(&seen.open, 1);
    ET_OK(rondo_event_wait(of_next, -1));
    ET_OK(rondo_runtime_drain(rt));
    for (int n = 1; n < 3; n++) {
        int last = (first + n * step) % 3;
        ET_OK(rondo_replay_and_wait(exec[last], NULL, -1, &result));
        cr_assert_eq(result.replay, 1 + (uint64_t)n);
        ET_OK(rondo_event_result(of_first, &result)); /* the others keep it */
        cr_assert_eq(result.replay, 0);
        ET_OK(rondo_event_result(of_next, &result));
        cr_assert_eq(result.replay, 1);
        ET_OK(rondo_exec_destroy(exec[last]));
        ET_OK(rondo_runtime_drain(rt));
    }
    ET_IS(rondo_event_result(of_first, &result), RONDO_ERR_STALE);
    ET_OK(rondo_event_wait(of_first, 0));
    ET_CLOSE(rt);
}

Test(engine_group, members_end_one_by_one)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++)
        for (int first = 0; first < 3; first++)
            for (int step = 1; step < 3; step++) {
                EM_TRY(&group_modes[k], 2);
                end_members(&group_modes[k], first, step);
            }
    et_alarm(0, "done");
}

/* ---- a member is updated, changed, switched */

static void update_member(const struct em_mode *m)
{
    rondo_runtime rt = et_runtime(2);
    rondo_exec exec[2];
    rondo_subgraph g = record_seen(rt, 8);
    make_seen(rt, m, 4, 2, exec);
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            ET_OK(rondo_exec_update(exec[1], g));
        ET_OK(rondo_replay(exec[i % 2], NULL, NULL));
        ET_OK(rondo_replay(exec[i / 2 % 2], NULL, NULL));
    }
    ET_OK(rondo_exec_wait(exec[0], NULL));
    for (int i = 0; i < 30; i++) {
        uint64_t second = i < 10 ? 2 : 9;
        cr_assert_eq(atomic_load(&seen.by[2 * i]), i % 2 ? second : 1, "%s: %d", m->name, i);
        cr_assert_eq(atomic_load(&seen.by[2 * i + 1]), i / 2 % 2 ? second : 1);
    }
    ET_OK(rondo_exec_touch(exec[0]));
    ET_OK(rondo_exec_destroy(exec[0]));
    ET_OK(rondo_exec_update(exec[1], g));
    ET_OK(rondo_replay_and_wait(exec[1], NULL, -1, NULL));
    ET_OK(rondo_exec_destroy(exec[1]));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(engine_group, a_member_is_updated)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++) {
        EM_TRY(&group_modes[k], 2);
        update_member(&group_modes[k]);
    }
    et_alarm(0, "done");
}

/* ---- threads */

struct submitter {
    rondo_exec exec;
    uint64_t rounds, which;
    _Atomic(uint64_t) *replays;
};

static void *submit(void *context)
{
    struct submitter *s = context;
    for (uint64_t i = 0; i < s->rounds; i++) {
        uint64_t count = i % 7 == 6 ? 5 : 1;
        if (i % 5 == 0)
            ET_OK(rondo_replay_and_wait(s->exec, &(rondo_replay_args){ .count = count }, -1, NULL));
        else
            ET_OK(rondo_replay(s->exec, &(rondo_replay_args){ .count = count }, NULL));
        atomic_fetch_add(&s->replays[s->which], count);
    }
    return NULL;
}

static void crowd(const struct em_mode *m, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    rondo_exec exec[3];
    struct submitter s[3];
    pthread_t thread[3];
    _Atomic(uint64_t) replays[3] = { 0 };
    uint64_t ran[3] = { 0 }, total = 0;
    make_seen(rt, m, 4, 3, exec);
    for (uint64_t i = 0; i < 3; i++) {
        s[i] = (struct submitter){ exec[i], et_scaled(400, 40), i, replays };
        cr_assert(!pthread_create(&thread[i], NULL, submit, &s[i]));
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    ET_OK(rondo_exec_wait(exec[0], NULL));
    for (int i = 0; i < 3; i++)
        total += atomic_load(&replays[i]);
    for (uint64_t i = 0; i < total; i++) {
        uint64_t by = atomic_load(&seen.by[i]);
        cr_assert(by > 0 && by < 4, "%s: replay %llu: %llu", m->name, (unsigned long long)i,
                  (unsigned long long)by);
        ran[by - 1]++;
    }
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ran[i], atomic_load(&replays[i]), "%s", m->name);
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_CLOSE(rt);
}

Test(engine_group, threads_replay_different_ones)
{
    for (uint32_t k = 0; k < GROUP_MODES; k++)
        for (uint32_t workers = 1; workers < 3; workers++) {
            EM_TRY(&group_modes[k], workers);
            crowd(&group_modes[k], workers);
        }
    et_alarm(0, "done");
}

/* ---- refusals */

Test(engine_group, what_cannot_be_a_group_is_refused)
{
    rondo_runtime rt = et_runtime(1), other = et_runtime(1);
    rondo_subgraph g[18];
    rondo_exec exec[18];
    et_alarm(60, "%s", __func__);
    for (uint64_t i = 0; i < 17; i++)
        g[i] = record_seen(rt, i);
    g[17] = record_seen(other, 17);
    const struct {
        uint32_t count;
        rondo_instantiate_options o;
        const char *says;
    } refused[] = {
        { 0, { 0 }, "0 subgraphs" },
        { 17, { 0 }, "17 subgraphs" },
        { 2, { .order = RONDO_CONCURRENT }, "RONDO_CONCURRENT" },
        { 2, { .schedule = RONDO_DATAFLOW }, "RONDO_DATAFLOW" },
        { 2, { .profile = 5 }, "5" },
        { 2, { .window = 5000 }, "window 5000" },
    };
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ET_IS(rondo_instantiate_group(g, refused[i].count, &refused[i].o, exec), RONDO_ERR_INVALID);
        ET_SAYS(refused[i].says);
    }
    ET_IS(rondo_instantiate_group((rondo_subgraph[]){ g[0], g[17] }, 2, NULL, exec),
          RONDO_ERR_INVALID);
    ET_SAYS("runtime");
    ET_IS(rondo_instantiate_group((rondo_subgraph[]){ g[0], { 0 } }, 2, NULL, exec),
          RONDO_ERR_INVALID);
    ET_IS(rondo_instantiate_group(NULL, 2, NULL, exec), RONDO_ERR_INVALID);
    ET_IS(rondo_instantiate_group(g, 2, NULL, NULL), RONDO_ERR_INVALID);
    atomic_store(&seen.open, 1);
    atomic_store(&seen.fail_at, -1);
    ET_OK(rondo_instantiate_group(g, 16, NULL, exec));
    for (int i = 0; i < 16; i++)
        ET_OK(rondo_replay_and_wait(exec[i], NULL, -1, NULL));
    for (int i = 0; i < 16; i++)
        ET_OK(rondo_exec_destroy(exec[i]));
    ET_OK(rondo_instantiate_group(g, 1, NULL, exec));
    ET_OK(rondo_replay_and_wait(exec[0], NULL, -1, NULL));
    ET_OK(rondo_exec_destroy(exec[0]));
    for (int i = 0; i < 18; i++)
        ET_OK(rondo_subgraph_destroy(g[i]));
    ET_CLOSE(rt);
    ET_CLOSE(other);
    et_alarm(0, "done");
}

/* ---- nodes of replays that ended long ago, of any member */

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

Test(engine_group, events_of_nodes_are_any_members, .timeout = 60)
{
    rondo_runtime rt;
    rondo_subgraph g[2];
    rondo_node node[2];
    rondo_exec exec[2];
    rondo_event first, e;
    ET_OK(rondo_runtime_open(NULL, &rt));
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_subgraph_create(rt, NULL, &g[i]));
        node[i] =
            rondo_record_task(g[i], &(rondo_task_desc){ .fn = nothing, .flags = RONDO_NO_ACCESS });
        ET_HANDLE(node[i]);
    }
    ET_OK(rondo_instantiate_group(g, 2, NULL, exec));
    ET_OK(rondo_replay(exec[1], NULL, &first));
    ET_OK(rondo_event_wait(first, -1));
    for (int i = 0; i < 4; i++) /* back and forth: the core's numbers begin anew */
        ET_OK(rondo_replay_and_wait(exec[i % 2], NULL, -1, NULL));
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_event_at(first, node[i], &e));
        cr_assert(!e.source && !e.count, "member %d: {%llu, %llu}", i, (unsigned long long)e.source,
                  (unsigned long long)e.count);
    }
    cr_assert_eq(rondo_event_at(first, (rondo_node){ 7 }, &e), RONDO_ERR_INVALID);
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_exec_destroy(exec[i]));
        ET_OK(rondo_subgraph_destroy(g[i]));
    }
    ET_CLOSE(rt);
}
