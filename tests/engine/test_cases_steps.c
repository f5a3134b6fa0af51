/* SPDX-License-Identifier: BSD-3-Clause */
/* Replays that meet others: execs that wait for each other's counters, a node behind two that are
 * ahead by several replays, and an iterative solver that stops itself and then goes on. */
#include "tests/engine/every_mode.h"

#include <sched.h>
#include <stdatomic.h>

/* The kinds of fault that users of graph replay have met, and where each is tested (in this folder,
 * unless another is named). Those of devices and of several processes are not here.
 *
 *  1  a recorded argument is overwritten      cases_values: arguments_are_those_recorded
 *  2  buffers that swap                       cases_values: buffers_swap_each_replay
 *  3  scalars that change                     cases_values: scalars_change_each_replay
 *  4  blocking in a task, half recordings     cases_lifetime: a_task_may_not_block,
 *                                             half_recordings_leave_nothing; loop: open_twice
 *  5  destroy under a running task            cases_lifetime: destroy_returns_at_once_and_...
 *  6  memory over many execs and replays      cases_lifetime: ten_thousand_execs_leave_nothing,
 *                                             a_million_replays_allocate_nothing
 *  7  update after the subgraph is gone       update: queued_replays_keep_what_they_had, where the
 *                                             first recording is destroyed before the update
 *  8  a failing leaf nobody waits for         cases_failure: a_leaf_nobody_waits_for_fails
 *  9  updates that differ in structure        update: another_structure_is_refused_by_name; in a
 *                                             function or argument: queued_replays_...; retask
 * 10  a context with a destructor             cases_lifetime: contexts_are_released_once_...
 * 11  spans of a trace                        trace: a_span_per_node_and_replay
 * 12  a forgotten edge                        cases_failure: a_forgotten_edge_is_reported
 * 13  the schedule chosen by itself           auto: the_best_by_its_own_figures_is_kept,
 *                                             one_tiny_node_has_no_choice_and_says_why
 * 16  several threads, execs, runtimes        cases_threads
 * 17  large recordings                        cases_large
 * 18  bindings that overlap                   cases_failure: bindings_that_overlap_are_refused_...
 * 22  exit with replays in flight             cases_lifetime: a_process_ends_with_replays_in_flight
 * 23  execs that wait for each other          here: two_execs_wait_for_each_other
 * 24  order through a skipped node            cases_failure: order_holds_through_a_skipped_node
 * 25  a node of several replays in flight     here: a_node_waits_for_its_own_replay
 * 26  a caller that holds a lock              cases_threads: a_waiting_caller_runs_no_other_...
 * 27  a full window behind a counter          stall: a_full_window_behind_a_counter
 * 28  a solver that stops                     here: a_solver_stops_and_goes_on
 * 29  recordings that alternate               group: two_that_alternate_are_as_the_plain_loop
 * 30  OpenMP inside a task                    ../machine/test_host: openmp; team: hosted
 * 31  old code, wrapped step by step          cases_values: old_code_is_right_at_every_stage_...
 * 32  an undeclared touch                     check: names_the_first_undeclared_touch
 */

/* ---- two execs that wait for each other */

static int count_up(rondo_task *self, const void *arg)
{
    (void)arg;
    atomic_fetch_add((_Atomic(uint64_t) *)rondo_task_context(self), 1);
    return 0;
}

/* Waits for its own counter and signals the other's, in the recorded order `chained` or beside each
 * other; a task behind the wait. */
static rondo_exec waiter(rondo_runtime rt, const struct em_mode *m, rondo_counter own,
                         rondo_counter other, int chained, _Atomic(uint64_t) *behind)
{
    rondo_instantiate_options o = em_options(m, 0);
    rondo_sync_desc d = { .counter = own, .first = 1, .step = 1 };
    rondo_task_desc t = {
        .name = "behind", .fn = count_up, .context = behind, .flags = RONDO_NO_ACCESS
    };
    rondo_subgraph g;
    rondo_exec exec;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    rondo_node wait = rondo_record_wait(g, &d);
    d.counter = other;
    d.after = t.after = &wait;
    d.after_count = chained != 0;
    t.after_count = 1;
    ET_HANDLE(rondo_record_signal(g, &d));
    ET_HANDLE(rondo_record_task(g, &t));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

static void each_other(const struct em_mode *m, int second_chained, uint32_t workers)
{
    const uint64_t replays = et_scaled(1000, 50);
    rondo_runtime rt = et_runtime(workers);
    _Atomic(uint64_t) behind[2] = { 0, 0 };
    rondo_counter c[2];
    rondo_exec exec[2];
    uint64_t value;
    EM_TRY(m, workers);
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_counter_create(rt, 0, &c[i]));
    for (int i = 0; i < 2; i++)
        exec[i] = waiter(rt, m, c[i], c[1 - i], i && second_chained, &behind[i]);
    for (uint64_t r = 0; r < replays; r++)
        for (int i = 0; i < 2; i++)
            ET_OK(rondo_replay(exec[(r + (uint64_t)i) % 2], NULL, NULL));
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_exec_wait(exec[i], NULL));
        ET_OK(rondo_counter_value(c[i], &value));
        cr_assert(value == replays && behind[i] == replays, "%s: counter %llu, behind %llu",
                  m->name, (unsigned long long)value, (unsigned long long)behind[i]);
    }
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_exec_destroy(exec[i]));
        ET_OK(rondo_counter_destroy(c[i]));
    }
    ET_CLOSE(rt);
    et_alarm(0, "%s", "");
}

Test(engine_steps, two_execs_wait_for_each_other, .timeout = 600)
{
    for (int k = 0; k < EM_MODES; k++)
        for (int chained = 0; chained < 2; chained++)
            for (uint32_t workers = 1; workers < 3; workers++)
                each_other(&em_modes[k], chained, workers);
}

/* ---- X after A and B, with several replays in flight */

enum { AHEAD = 1 << 16 };

struct ahead {
    _Atomic(uint64_t) a_begun, wrong, x;
    int gated; /* B of replay 0 lets A of replays 1 and 2 go first */
    unsigned char done[2][AHEAD], x_of[AHEAD]; /* plain: the order is Rondo's to give */
};

static int a_task(rondo_task *self, const void *arg)
{
    struct ahead *h = rondo_task_context(self);
    (void)arg;
    atomic_fetch_add(&h->a_begun, 1);
    h->done[0][self->replay] = 1;
    return 0;
}

static int b_task(rondo_task *self, const void *arg)
{
    struct ahead *h = rondo_task_context(self);
    (void)arg;
    if (h->gated && self->replay == 0 && !et_await(&h->a_begun, 3))
        return rondo_task_fail(self, "A of replays 1 and 2 does not begin");
    for (uint64_t i = self->replay % 7; i; i--)
        sched_yield();
    h->done[1][self->replay] = 1;
    return 0;
}

static int x_task(rondo_task *self, const void *arg)
{
    struct ahead *h = rondo_task_context(self);
    (void)arg;
    for (int i = 0; i < 2; i++)
        if (!h->done[i][self->replay])
            atomic_fetch_add(&h->wrong, 1);
    if (h->x_of[self->replay]++)
        atomic_fetch_add(&h->wrong, 1);
    atomic_fetch_add(&h->x, 1);
    return 0;
}

static rondo_exec ahead_exec(rondo_runtime rt, const struct em_mode *m, struct ahead *h, int bound)
{
    rondo_instantiate_options o = em_options(m, 3);
    rondo_task_desc d = { .flags = RONDO_NO_ACCESS, .context = h };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node ab[2];
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .flags = RONDO_EDGES_EXPLICIT }, &g));
    for (uint32_t i = 0; i < 2; i++) {
        d.name = i ? "B" : "A";
        d.fn = i ? b_task : a_task;
        d.on = bound ? RONDO_CPU(i) : RONDO_ANY_CPU;
        ab[i] = rondo_record_task(g, &d);
    }
    d.name = "X";
    d.fn = x_task;
    d.after = ab;
    d.after_count = 2;
    ET_HANDLE(rondo_record_task(g, &d));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

/* `bound`: A on one processor, B and X on the other, so that A gets ahead as far as it may. */
static void ahead_of(const struct em_mode *m, int bound, uint32_t workers)
{
    static struct ahead h;
    const uint64_t replays = et_scaled(4000, 200);
    rondo_runtime rt = et_runtime(workers);
    EM_TRY(m, workers);
    memset(&h, 0, sizeof h);
    h.gated = bound && m->order == RONDO_PIPELINED && m->mode != RONDO_INTERPRETED &&
              m->schedule != RONDO_SCHEDULE_AUTO;
    rondo_exec exec = ahead_exec(rt, m, &h, bound);
    for (uint64_t r = 0; r < replays;) {
        uint64_t count = r % 5 ? 1 : 3;
        count = count > replays - r ? replays - r : count;
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .count = count }, NULL));
        r += count;
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    cr_assert(h.x == replays && !h.wrong, "%s, %u workers: %llu of %llu, %llu wrong", m->name,
              workers, (unsigned long long)h.x, (unsigned long long)replays,
              (unsigned long long)h.wrong);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
    et_alarm(0, "%s", "");
}

Test(engine_steps, a_node_waits_for_its_own_replay, .timeout = 600)
{
    for (int k = 0; k < EM_MODES; k++)
        for (uint32_t workers = 1; workers < 4; workers++)
            for (int bound = 0; bound < (workers > 1 ? 2 : 1); bound++)
                ahead_of(&em_modes[k], bound, workers);
}

/* ---- conjugate gradients, stopped by a node of the loop */

enum { UNKNOWNS = 240, CHUNKS = 5, WIDE = UNKNOWNS / CHUNKS, MOST = 100, MORE = 10 };

/* The directions p go round a ring of three, the squares of the residual one of two. */
struct solver {
    double x[UNKNOWNS], r[UNKNOWNS], ap[UNKNOWNS], p[3][UNKNOWNS], rr[2];
};

static double row_times(const double *p, int64_t i)
{
    double at = (2.2 + (double)(i * 37 % 11) / 20) * p[i];
    return at - (i ? p[i - 1] : 0) - (i < UNKNOWNS - 1 ? p[i + 1] : 0);
}

static void solver_start(struct solver *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < UNKNOWNS; i++) {
        s->r[i] = s->p[0][i] = (i * 7919 % 1000) / 3.0 - 100;
        s->p[1][i] = s->p[2][i] = -1;
    }
    for (int c = 0; c < CHUNKS; c++) {
        double sum = 0;
        for (int i = c * WIDE; i < (c + 1) * WIDE; i++)
            sum += s->r[i] * s->r[i];
        s->rr[0] += sum;
    }
}

/* The n-th iteration of the plain loop: sums of chunks, added in order. */
static void solver_step(struct solver *s, uint64_t n)
{
    const double *p = s->p[n % 3], rr = s->rr[n % 2];
    double *next = s->p[(n + 1) % 3], pap = 0, more = 0;
    for (int c = 0; c < CHUNKS; c++) {
        double sum = 0;
        for (int i = c * WIDE; i < (c + 1) * WIDE; i++) {
            s->ap[i] = row_times(p, i);
            sum += p[i] * s->ap[i];
        }
        pap += sum;
    }
    for (int c = 0; c < CHUNKS; c++) {
        double sum = 0;
        for (int i = c * WIDE; i < (c + 1) * WIDE; i++) {
            s->x[i] += rr / pap * p[i];
            s->r[i] -= rr / pap * s->ap[i];
            sum += s->r[i] * s->r[i];
        }
        more += sum;
    }
    s->rr[(n + 1) % 2] = more;
    for (int i = 0; i < UNKNOWNS; i++)
        next[i] = s->r[i] + more / rr * p[i];
}

static int multiply(rondo_task *self, const void *arg)
{
    const double *p = rondo_task_read(self, 0);
    double *ap = rondo_task_write(self, 1), *pap = rondo_task_write(self, 2);
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    for (int64_t i = r->first[0]; i < r->first[0] + r->count[0]; i++) {
        ap[i] = row_times(p, i);
        *pap += p[i] * ap[i];
    }
    return 0;
}

static int advance(rondo_task *self, const void *arg)
{
    const double *p = rondo_task_read(self, 0), *ap = rondo_task_read(self, 1);
    const double *rr = rondo_task_read(self, 2), *pap = rondo_task_read(self, 3);
    double *x = rondo_task_write(self, 4), *res = rondo_task_write(self, 5);
    double *more = rondo_task_write(self, 6);
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    for (int64_t i = r->first[0]; i < r->first[0] + r->count[0]; i++) {
        x[i] += *rr / *pap * p[i];
        res[i] -= *rr / *pap * ap[i];
        *more += res[i] * res[i];
    }
    return 0;
}

static int judge(rondo_task *self, const void *arg)
{
    (void)arg;
    if (*(const double *)rondo_task_read(self, 0) < *(const double *)rondo_task_param(self, 0))
        rondo_task_stop(self);
    return 0;
}

static int turn(rondo_task *self, const void *arg)
{
    const double *p = rondo_task_read(self, 0), *res = rondo_task_read(self, 1);
    const double *rr = rondo_task_read(self, 2), *more = rondo_task_read(self, 3);
    double *next = rondo_task_write(self, 4);
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    for (int64_t i = r->first[0]; i < r->first[0] + r->count[0]; i++)
        next[i] = res[i] + *more / *rr * p[i];
    return 0;
}

struct solver_slots {
    rondo_slot x, r, ap, pap, p, next, rr, more;
};

static rondo_buffer wrap(rondo_runtime rt, double *host, int64_t count)
{
    rondo_buffer buffer;
    rondo_buffer_desc d = { .shape = { sizeof *host, { count }, { 0 } }, .host = host };
    ET_OK(rondo_buffer_create(rt, &d, &buffer));
    return buffer;
}

static rondo_slot ring_slot(rondo_subgraph g, const rondo_buffer *ring, uint32_t count,
                            uint32_t first)
{
    rondo_slot_desc d = { .ring = ring, .ring_count = count, .ring_first = first };
    if (count == 1)
        d = (rondo_slot_desc){ .buffer = *ring };
    rondo_slot slot = rondo_subgraph_slot(g, &d);
    ET_HANDLE(slot);
    return slot;
}

/* The buffers are the subgraph's and the exec's from then on. */
static struct solver_slots solver_slots(rondo_runtime rt, rondo_subgraph g, struct solver *s)
{
    rondo_buffer b[8] = { wrap(rt, s->x, UNKNOWNS),    wrap(rt, s->r, UNKNOWNS),
                          wrap(rt, s->ap, UNKNOWNS),   wrap(rt, s->p[0], UNKNOWNS),
                          wrap(rt, s->p[1], UNKNOWNS), wrap(rt, s->p[2], UNKNOWNS),
                          wrap(rt, &s->rr[0], 1),      wrap(rt, &s->rr[1], 1) };
    rondo_slot_desc sum = { .name = "pAp",
                            .shape = { sizeof(double), { 1 }, { 0 } },
                            .flags = RONDO_TEMPORARY | RONDO_ZEROED };
    struct solver_slots slots = {
        .x = ring_slot(g, &b[0], 1, 0),
        .r = ring_slot(g, &b[1], 1, 0),
        .ap = ring_slot(g, &b[2], 1, 0),
        .p = ring_slot(g, &b[3], 3, 0),
        .next = ring_slot(g, &b[3], 3, 1),
        .rr = ring_slot(g, &b[6], 2, 0),
        .more = ring_slot(g, &b[6], 2, 1),
        .pap = rondo_subgraph_slot(g, &sum),
    };
    for (int i = 0; i < 8; i++)
        ET_OK(rondo_buffer_destroy(b[i]));
    return slots;
}

static void chunks(rondo_subgraph g, const char *name, rondo_task_fn *fn,
                   const rondo_access *accesses, uint32_t count)
{
    rondo_task_desc t = { .name = name, .fn = fn, .accesses = accesses, .access_count = count };
    rondo_for_desc f = { .task = &t, .range = rondo_span(0, UNKNOWNS), .chunks = { CHUNKS } };
    ET_HANDLE(rondo_record_for(g, &f));
}

static rondo_param solver_record(rondo_subgraph g, const struct solver_slots *s, uint32_t lag)
{
    const double zero = 0;
    const rondo_region all = rondo_whole();
    rondo_param limit = rondo_subgraph_param(g, "limit", sizeof(double), NULL);
    const rondo_access product[] = { rondo_chunk(s->p, RONDO_READ, 1, 0),
                                     rondo_chunk(s->ap, RONDO_WRITE, 0, 0),
                                     rondo_reduce(s->pap, all, RONDO_F64, RONDO_SUM) };
    const rondo_access step[] = {
        rondo_chunk(s->p, RONDO_READ, 0, 0),
        rondo_chunk(s->ap, RONDO_READ, 0, 0),
        rondo_read(s->rr, all),
        rondo_read(s->pap, all),
        rondo_chunk(s->x, RONDO_READ_WRITE, 0, 0),
        rondo_chunk(s->r, RONDO_READ_WRITE, 0, 0),
        rondo_reduce(s->more, all, RONDO_F64, RONDO_SUM),
    };
    const rondo_access next[] = { rondo_chunk(s->p, RONDO_READ, 0, 0),
                                  rondo_chunk(s->r, RONDO_READ, 0, 0), rondo_read(s->rr, all),
                                  rondo_read(s->more, all),
                                  rondo_chunk(s->next, RONDO_WRITE, 0, 0) };
    chunks(g, "multiply", multiply, product, 3);
    ET_HANDLE(rondo_record_fill(g, &(rondo_move_desc){ .to = rondo_write(s->more, all),
                                                       .value = &zero,
                                                       .value_bytes = sizeof zero }));
    chunks(g, "advance", advance, step, 7);
    ET_HANDLE(rondo_record_task(g, &(rondo_task_desc){ .name = "judge",
                                                       .fn = judge,
                                                       .flags = RONDO_MAY_STOP,
                                                       .stop_lag = lag,
                                                       RONDO_PARAMS(limit),
                                                       RONDO_ACCESSES(rondo_read(s->more, all)) }));
    chunks(g, "turn", turn, next, 5);
    return limit;
}

static void same(const struct solver *a, const struct solver *b, const char *mode, uint32_t lag,
                 const char *when)
{
    cr_assert(!memcmp(a->x, b->x, sizeof a->x), "%s, lag %u, %s: x differs", mode, lag, when);
    cr_assert(!memcmp(a, b, sizeof *a), "%s, lag %u, %s: the rings differ", mode, lag, when);
}

static void solve(const struct em_mode *m, uint32_t lag, uint32_t workers)
{
    static struct solver s, plain;
    const double small = 1e-9, never = 0;
    rondo_instantiate_options o = em_options(m, 0);
    rondo_runtime rt = et_runtime(workers);
    rondo_subgraph g;
    rondo_exec exec;
    rondo_result r;
    uint64_t n = 0;
    EM_TRY(m, workers);
    solver_start(&s);
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "cg" }, &g));
    struct solver_slots slots = solver_slots(rt, g, &s);
    rondo_param limit = solver_record(g, &slots, lag);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    solver_start(&plain);
    do
        solver_step(&plain, n++);
    while (plain.rr[n % 2] >= small);
    cr_assert(n > 10 && n + lag < MOST - 10, "the plain loop takes %llu", (unsigned long long)n);
    for (uint32_t i = 0; i < lag; i++)
        solver_step(&plain, n++);

    rondo_value value = { limit, &small, 0 };
    rondo_replay_args args = { .values = &value, .value_count = 1, .count = MOST };
    ET_OK(rondo_replay_and_wait(exec, &args, -1, &r));
    cr_assert(r.status == RONDO_OK && r.stopped && r.replays_run == n,
              "%s, lag %u: stopped %u, %llu replays instead of %llu", m->name, lag, r.stopped,
              (unsigned long long)r.replays_run, (unsigned long long)n);
    same(&s, &plain, m->name, lag, "at the stop");

    value.value = &never;
    args.count = MORE;
    for (int i = 0; i < MORE; i++)
        solver_step(&plain, n++);
    ET_OK(rondo_replay_and_wait(exec, &args, -1, &r));
    cr_assert(r.status == RONDO_OK && !r.stopped && r.replays_run == n, "%s: %llu instead of %llu",
              m->name, (unsigned long long)r.replays_run, (unsigned long long)n);
    same(&s, &plain, m->name, lag, "ten more");
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
    et_alarm(0, "%s", "");
}

Test(engine_steps, a_solver_stops_and_goes_on, .timeout = 600)
{
    for (int k = 0; k < EM_ORDERED; k++)
        for (uint32_t lag = 0; lag < 4; lag += 1 + lag)
            for (uint32_t workers = 1; workers < 4; workers++)
                solve(&em_modes[k], lag, workers);
}
