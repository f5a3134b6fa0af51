/* SPDX-License-Identifier: BSD-3-Clause */
/* What a replay computes with: recorded arguments, buffers that change places, scalars that change
 * each replay, and old code that is wrapped as it is. Every case in every mode. */
#include "tests/engine/engine_check.h"

#include <stdlib.h>

struct machine {
    rondo_runtime runtime;
    rondo_subgraph subgraph;
};

static struct machine open_machine(uint32_t workers, const char *name)
{
    struct machine m = { .runtime = et_runtime(workers) };
    ET_OK(rondo_subgraph_create(m.runtime, &(rondo_subgraph_desc){ .name = name }, &m.subgraph));
    return m;
}

static rondo_buffer wrap(struct machine m, const char *name, void *host, size_t elem, int64_t count)
{
    rondo_buffer buffer;
    rondo_buffer_desc desc = { .name = name, .shape = { elem, { count }, { 0 } }, .host = host };
    ET_OK(rondo_buffer_create(m.runtime, &desc, &buffer));
    return buffer;
}

static rondo_exec make_exec(struct machine m, const struct et_mode *mode)
{
    rondo_exec exec;
    rondo_instantiate_options options = { .mode = mode->mode,
                                          .order = mode->order,
                                          .schedule = mode->schedule };
    ET_OK(rondo_instantiate(m.subgraph, &options, &exec));
    return exec;
}

/* ---- a task's argument is what it was when recorded */

static int add_argument(rondo_task *self, const void *arg)
{
    uint64_t *sum = rondo_task_write(self, 0);
    *sum += *(const uint64_t *)arg;
    return 0;
}

Test(engine_values, arguments_are_those_recorded)
{
    for (int k = 0; k < ET_MODES; k++) {
        struct machine m = open_machine(2, "argument");
        uint64_t sum = 0, n = 7;
        rondo_buffer buffer = wrap(m, "sum", &sum, sizeof sum, 1);
        rondo_slot slot = rondo_subgraph_slot(m.subgraph, &(rondo_slot_desc){ .buffer = buffer });
        ET_HANDLE(rondo_record_task(m.subgraph, &(rondo_task_desc){ .fn = add_argument,
                                                                    RONDO_ARG(n),
                                                                    RONDO_ACCESSES(rondo_read_write(
                                                                        slot, rondo_whole())) }));
        n = 1000000;
        rondo_exec exec = make_exec(m, &et_modes[k]);
        n = 2000000;
        for (int i = 0; i < 9; i++)
            ET_OK(rondo_replay(exec, NULL, NULL));
        ET_OK(rondo_exec_wait(exec, NULL));
        cr_assert_eq(sum, 63, "%s: %llu", et_modes[k].name, (unsigned long long)sum);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(m.subgraph));
        ET_OK(rondo_buffer_destroy(buffer));
        ET_CLOSE(m.runtime);
    }
}

/* ---- a stencil whose buffers swap each replay */

enum { STENCIL = 1000 };

static double stencil_point(const double *in, int64_t i)
{
    return i == 0 || i == STENCIL - 1 ? in[i] : 0.25 * in[i - 1] + 0.5 * in[i] + 0.25 * in[i + 1];
}

static int stencil(rondo_task *self, const void *arg)
{
    const double *in = rondo_task_read(self, 0);
    double *out = rondo_task_write(self, 1);
    const rondo_region *r = rondo_task_chunk(self);
    (void)arg;
    for (int64_t i = r->first[0]; i < r->first[0] + r->count[0]; i++)
        out[i] = stencil_point(in, i);
    return 0;
}

static void stencil_start(double *a, double *b)
{
    for (int i = 0; i < STENCIL; i++) {
        a[i] = (i * 7919 % 1000) / 3.0;
        b[i] = -1;
    }
}

static void stencil_plain(double *a, double *b, int steps)
{
    for (int s = 0; s < steps; s++)
        for (int64_t i = 0; i < STENCIL; i++) {
            if (s % 2)
                a[i] = stencil_point(b, i);
            else
                b[i] = stencil_point(a, i);
        }
}

/* `ring`: the swap is declared; else the buffers are bound anew at each replay. */
static void stencil_swaps(const struct et_mode *mode, int ring, int steps, uint32_t workers)
{
    static double a[STENCIL], b[STENCIL], pa[STENCIL], pb[STENCIL];
    struct machine m = open_machine(workers, "stencil");
    rondo_buffer grid[2] = { wrap(m, "a", a, sizeof *a, STENCIL),
                             wrap(m, "b", b, sizeof *b, STENCIL) };
    rondo_slot_desc d = { .name = "in" };
    if (ring) {
        d.ring = grid;
        d.ring_count = 2;
    } else {
        d.shape = (rondo_shape){ sizeof *a, { STENCIL }, { 0 } };
    }
    rondo_slot in = rondo_subgraph_slot(m.subgraph, &d);
    d.name = "out";
    d.ring_first = ring ? 1 : 0;
    rondo_slot out = rondo_subgraph_slot(m.subgraph, &d);
    ET_HANDLE(rondo_record_for(
        m.subgraph,
        &(rondo_for_desc){ RONDO_TASK(.name = "stencil", .fn = stencil,
                                      RONDO_ACCESSES(rondo_chunk(in, RONDO_READ, 1, 0),
                                                     rondo_chunk(out, RONDO_WRITE, 0, 0))),
                           .range = rondo_span(0, STENCIL), .chunks = { 7 } }));
    rondo_exec exec = make_exec(m, mode);
    stencil_start(a, b);
    stencil_start(pa, pb);
    for (int s = 0; s < steps; s++) {
        rondo_binding bind[2] = { { in, grid[s % 2] }, { out, grid[(s + 1) % 2] } };
        rondo_replay_args args = { .bindings = bind, .binding_count = ring ? 0 : 2 };
        ET_OK(rondo_replay(exec, &args, NULL));
    }
    ET_OK(rondo_exec_wait(exec, NULL));
    stencil_plain(pa, pb, steps);
    cr_assert(!memcmp(a, pa, sizeof a) && !memcmp(b, pb, sizeof b), "%s, %s, %d steps, %u workers",
              mode->name, ring ? "ring" : "bound", steps, workers);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(m.subgraph));
    ET_OK(rondo_buffer_destroy(grid[0]));
    ET_OK(rondo_buffer_destroy(grid[1]));
    ET_CLOSE(m.runtime);
}

Test(engine_values, buffers_swap_each_replay)
{
    for (int k = 0; k < ET_MODES; k++)
        for (int ring = 0; ring < 2; ring++)
            for (int steps = 7; steps < 9; steps++)
                for (uint32_t workers = 1; workers < 4; workers++)
                    stencil_swaps(&et_modes[k], ring, steps, workers);
}

/* ---- scalars that change each replay */

enum { TIMES = 200, SOURCE = 64 };

struct timed_arg {
    uint64_t before, patched, after;
};

/* Keeps what this replay saw: the parameter, the patched argument, and how much was copied. */
static int see_time(rondo_task *self, const void *arg)
{
    uint64_t(*log)[3] = rondo_task_write(self, 0);
    const unsigned char *copied = rondo_task_read(self, 1);
    const struct timed_arg *a = arg;
    uint64_t n = 0;
    while (n < SOURCE && copied[n])
        n++;
    if (a->before != 11 || a->after != 13)
        return rondo_task_fail(self, "the patch wrote beside its place");
    log[self->replay][0] = *(const uint64_t *)rondo_task_param(self, 0);
    log[self->replay][1] = a->patched;
    log[self->replay][2] = n;
    return 0;
}

static rondo_slot fixed(rondo_subgraph g, const char *name, rondo_buffer buffer)
{
    return rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = name, .buffer = buffer });
}

static void record_times(struct machine m, rondo_buffer log, rondo_buffer source,
                         rondo_buffer target, rondo_param *t, rondo_param *size)
{
    struct timed_arg arg = { 11, 12, 13 };
    rondo_slot from = fixed(m.subgraph, "source", source), to = fixed(m.subgraph, "target", target);
    *t = rondo_subgraph_param(m.subgraph, "t", 16, NULL);
    *size = rondo_subgraph_param(m.subgraph, "size", sizeof(int64_t), NULL);
    rondo_move_desc move = { .to = rondo_write(to, rondo_whole()), .value = "", .value_bytes = 1 };
    ET_HANDLE(rondo_record_fill(m.subgraph, &move));
    move = (rondo_move_desc){ .from = rondo_read(from, rondo_whole()),
                              .to = rondo_write(to, rondo_whole()),
                              .count = *size };
    ET_HANDLE(rondo_record_copy(m.subgraph, &move));
    rondo_patch patch = { *t, 8, offsetof(struct timed_arg, patched), 8, 0 };
    rondo_task_desc task = { .name = "see",
                             .fn = see_time,
                             RONDO_ARG(arg),
                             RONDO_PARAMS(*t),
                             .patches = &patch,
                             .patch_count = 1 };
    rondo_access access[2] = { rondo_read_write(fixed(m.subgraph, "log", log), rondo_whole()),
                               rondo_read(to, rondo_whole()) };
    task.accesses = access;
    task.access_count = 2;
    ET_HANDLE(rondo_record_task(m.subgraph, &task));
}

/* Replays one by one with the window full, then as many again in calls of several. */
static void replay_times(rondo_exec exec, rondo_param t, rondo_param size)
{
    uint64_t now[8][2];
    int64_t n[8];
    rondo_value values[2] = { { t, now, sizeof *now }, { size, n, sizeof *n } };
    for (uint64_t r = 0; r < TIMES;) {
        uint64_t count = r < TIMES / 2 ? 1 : 1 + r % 8;
        if (count > TIMES - r)
            count = TIMES - r;
        for (uint64_t k = 0; k < count; k++) {
            now[k][0] = 1000 + r + k;
            now[k][1] = 5000 + r + k;
            n[k] = (int64_t)((r + k) * 5 % (SOURCE + 1));
        }
        rondo_replay_args args = { .values = values, .value_count = 2, .count = count };
        ET_OK(rondo_replay(exec, &args, NULL));
        memset(now, 0xff, sizeof now);
        memset(n, 0xff, sizeof n);
        r += count;
    }
}

Test(engine_values, scalars_change_each_replay)
{
    static uint64_t log[TIMES][3];
    static unsigned char source[SOURCE], target[SOURCE];
    memset(source, 1, sizeof source);
    for (int k = 0; k < ET_MODES; k++) {
        struct machine m = open_machine(2, "times");
        rondo_buffer buffers[3] = { wrap(m, "log", log, sizeof *log, TIMES),
                                    wrap(m, "source", source, 1, SOURCE),
                                    wrap(m, "target", target, 1, SOURCE) };
        rondo_param t, size;
        record_times(m, buffers[0], buffers[1], buffers[2], &t, &size);
        rondo_exec exec = make_exec(m, &et_modes[k]);
        memset(log, 0, sizeof log);
        replay_times(exec, t, size);
        ET_OK(rondo_exec_wait(exec, NULL));
        for (uint64_t r = 0; r < TIMES; r++)
            cr_assert(log[r][0] == 1000 + r && log[r][1] == 5000 + r &&
                          log[r][2] == r * 5 % (SOURCE + 1),
                      "%s: replay %llu saw %llu, %llu and %llu", et_modes[k].name,
                      (unsigned long long)r, (unsigned long long)log[r][0],
                      (unsigned long long)log[r][1], (unsigned long long)log[r][2]);
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(m.subgraph));
        for (int b = 0; b < 3; b++)
            ET_OK(rondo_buffer_destroy(buffers[b]));
        ET_CLOSE(m.runtime);
    }
}

/* ---- nine functions on globals, wrapped as they are, then with accesses one by one */

enum { OLD = 48, FUNCTIONS = 9 };
static uint32_t old_a[OLD], old_b[OLD], old_c[OLD], old_total;
static uint32_t *const old_arrays[4] = { old_a, old_b, old_c, &old_total };

/* As old code is: every function goes over the arrays by itself. */
#define OLD_FUNCTION(number, statement)    \
    static void old_##number(void)         \
    {                                      \
        for (uint32_t i = 0; i < OLD; i++) \
            statement;                     \
    }
OLD_FUNCTION(0, old_a[i] += i + old_total)
OLD_FUNCTION(1, old_b[i] = old_a[(i + 1) % OLD] * 3)
OLD_FUNCTION(2, old_c[i] ^= old_b[i] + old_a[i])
OLD_FUNCTION(3, old_a[i] = old_c[OLD - 1 - i] + 1)
OLD_FUNCTION(4, old_total += old_c[i])
OLD_FUNCTION(5, old_b[i] += old_total)
OLD_FUNCTION(6, old_c[i] = old_c[i] * 5 + old_b[i])
OLD_FUNCTION(7, old_a[i] -= old_b[i] ^ old_c[i])
OLD_FUNCTION(8, old_total = old_total * 31 + old_a[i])
static void (*const old_function[FUNCTIONS])(void) = {
    old_0, old_1, old_2, old_3, old_4, old_5, old_6, old_7, old_8,
};

/* By function and array (a, b, c, total): how it is touched. */
static const uint8_t old_touches[FUNCTIONS][4] = {
    { 3, 0, 0, 1 }, { 1, 2, 0, 0 }, { 1, 1, 3, 0 }, { 2, 0, 1, 0 }, { 0, 0, 1, 3 },
    { 0, 3, 0, 1 }, { 0, 1, 3, 0 }, { 3, 1, 1, 0 }, { 1, 0, 0, 3 },
};

static int old_task(rondo_task *self, const void *arg)
{
    (void)self;
    old_function[*(const int *)arg]();
    return 0;
}

static void old_call(void *context) { old_function[*(int *)context](); }

static void old_start(void)
{
    for (uint32_t i = 0; i < OLD; i++) {
        old_a[i] = i * i;
        old_b[i] = 7 * i;
        old_c[i] = ~i;
    }
    old_total = 3;
}

/* The first `described` functions declare what they touch; of the others, those in `called` are
 * plain calls, the rest tasks without accesses. */
static void record_old(struct machine m, const rondo_buffer buffers[4], int described, int called)
{
    static int number[FUNCTIONS];
    rondo_slot slot[4];
    for (int a = 0; a < 4; a++)
        slot[a] = fixed(m.subgraph, "old", buffers[a]);
    for (int f = 0; f < FUNCTIONS; f++) {
        rondo_access access[4];
        uint32_t n = 0;
        number[f] = f;
        for (int a = 0; a < 4; a++)
            if (old_touches[f][a])
                access[n++] = rondo_access_of(slot[a], old_touches[f][a], rondo_whole());
        rondo_task_desc d = { .fn = old_task, RONDO_ARG(f) };
        if (f < described) {
            d.accesses = access;
            d.access_count = n;
        }
        if (f >= described && (called >> f & 1))
            ET_HANDLE(rondo_record_call(m.subgraph, "old", old_call, &number[f]));
        else
            ET_HANDLE(rondo_record_task(m.subgraph, &d));
    }
}

static void old_code(const struct et_mode *mode, int described, int called, uint32_t workers)
{
    enum { STEPS = 6 };
    uint32_t expected[3 * OLD + 1];
    struct machine m = open_machine(workers, "old code");
    rondo_buffer buffers[4];
    for (int a = 0; a < 4; a++)
        buffers[a] = wrap(m, "old", old_arrays[a], sizeof(uint32_t), a < 3 ? OLD : 1);
    record_old(m, buffers, described, called);
    rondo_exec exec = make_exec(m, mode);
    old_start();
    for (int f = 0; f < STEPS * FUNCTIONS; f++)
        old_function[f % FUNCTIONS]();
    for (int a = 0; a < 4; a++)
        memcpy(expected + a * OLD, old_arrays[a], (a < 3 ? OLD : 1) * sizeof(uint32_t));
    old_start();
    for (int s = 0; s < STEPS; s++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    for (int a = 0; a < 4; a++)
        cr_assert(!memcmp(expected + a * OLD, old_arrays[a], (a < 3 ? OLD : 1) * sizeof(uint32_t)),
                  "%s, %d described, calls %x, %u workers: array %d", mode->name, described,
                  (unsigned)called, workers, a);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(m.subgraph));
    for (int a = 0; a < 4; a++)
        ET_OK(rondo_buffer_destroy(buffers[a]));
    ET_CLOSE(m.runtime);
}

Test(engine_values, old_code_is_right_at_every_stage_of_wrapping)
{
    for (int k = 0; k < ET_MODES; k++)
        for (int described = 0; described <= FUNCTIONS; described++)
            for (int called = 0; called < 3; called++)
                old_code(&et_modes[k], described,
                         called == 0   ? 0
                         : called == 1 ? 0x1ff
                                       : 0x0aa,
                         1 + (uint32_t)(described + called) % 3);
}
