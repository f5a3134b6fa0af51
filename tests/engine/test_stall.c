/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that submits one replay more than the window holds, all gated on a counter that it means
 * to raise afterwards: it blocks, and the watchdog says why; without waiting it is told AGAIN. */
#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 3, LINES = 32 };

enum gate { BY_AFTER, BY_WAIT_NODE };

static const struct {
    const char *what;
    enum gate gate;
    uint32_t adopt, mode, schedule;
    const char *node; /* that waits */
} cases[] = {
    { "after", BY_AFTER, 0, RONDO_COMPILED, RONDO_STATIC, "body" },
    { "a wait node", BY_WAIT_NODE, 0, RONDO_COMPILED, RONDO_STATIC, "gate" },
    { "a wait node, interpreted", BY_WAIT_NODE, 0, RONDO_INTERPRETED, RONDO_STATIC, "gate" },
    { "after, nobody drives", BY_AFTER, 1, RONDO_COMPILED, RONDO_STATIC, "body" },
    { "a wait node, nobody drives", BY_WAIT_NODE, 1, RONDO_COMPILED, RONDO_STATIC, "gate" },
    { "a wait node, dataflow", BY_WAIT_NODE, 1, RONDO_AUTO, RONDO_DATAFLOW, "gate" },
};

static struct {
    pthread_mutex_t lock;
    char line[LINES][512];
    int count;
} said = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep(void *context, int level, const char *message)
{
    (void)context;
    pthread_mutex_lock(&said.lock);
    if (level <= RONDO_LOG_WARNING && said.count < LINES)
        (void)snprintf(said.line[said.count++], sizeof said.line[0], "%s", message);
    pthread_mutex_unlock(&said.lock);
}

/* How many lines hold all three texts. */
static int lines_with(const char *a, const char *b, const char *c)
{
    int found = 0;
    pthread_mutex_lock(&said.lock);
    for (int i = 0; i < said.count; i++)
        found += strstr(said.line[i], a) && strstr(said.line[i], b) && strstr(said.line[i], c);
    pthread_mutex_unlock(&said.lock);
    return found;
}

static void print_lines(const char *what)
{
    for (int i = 0; i < said.count; i++)
        fprintf(stderr, "%s: the watchdog says: %s\n", what, said.line[i]);
}

static _Atomic(uint64_t) ran;
static int body(rondo_task *t, const void *a)
{
    (void)t;
    (void)a;
    atomic_fetch_add(&ran, 1);
    return 0;
}

struct submitter {
    rondo_exec exec;
    rondo_event gate; /* {0, 0}: none */
    rondo_status status;
    _Atomic(uint64_t) submitted;
};

static void *submit(void *argument)
{
    struct submitter *s = argument;
    const rondo_replay_args args = { .after = &s->gate, .after_count = s->gate.source != 0 };
    for (int i = 0; i <= WINDOW && !s->status; i++) {
        s->status = rondo_replay(s->exec, &args, NULL);
        atomic_fetch_add(&s->submitted, 1);
    }
    return NULL;
}

static rondo_exec record(rondo_runtime rt, rondo_counter counter, size_t c)
{
    rondo_instantiate_options o = { .mode = cases[c].mode,
                                    .schedule = cases[c].schedule,
                                    .window = WINDOW };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node n = { 0 };
    cr_assert_eq(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "gated" }, &g),
                 RONDO_OK);
    if (cases[c].gate == BY_WAIT_NODE)
        n = rondo_record_wait(g,
                              &(rondo_sync_desc){ .name = "gate", .counter = counter, .first = 1 });
    rondo_record_task(g, &(rondo_task_desc){ .name = "body",
                                             .fn = body,
                                             .after = &n,
                                             .after_count = cases[c].gate == BY_WAIT_NODE,
                                             .on = RONDO_CPU(0) });
    cr_assert_eq(rondo_instantiate(g, &o, &exec), RONDO_OK, "%s: %s", cases[c].what,
                 rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    return exec;
}

static void check(size_t c)
{
    rondo_runtime rt;
    rondo_counter counter;
    rondo_event gate;
    struct submitter s = { .status = RONDO_OK };
    pthread_t thread;
    char list[32], node[64], source[64];
    et_cpu_list(1, list, sizeof list);
    cr_assert_eq(
        rondo_runtime_open(
            &(rondo_runtime_options){ .cpus = list, .adopt = cases[c].adopt, .log = keep }, &rt),
        RONDO_OK);
    cr_assert_eq(rondo_counter_create(rt, 0, &counter), RONDO_OK);
    cr_assert_eq(rondo_counter_event(counter, 1, &gate), RONDO_OK);
    s.exec = record(rt, counter, c);
    if (cases[c].gate == BY_AFTER)
        s.gate = gate;
    atomic_store(&ran, 0);
    said.count = 0;
    cr_assert_eq(pthread_create(&thread, NULL, submit, &s), 0);
    cr_assert(et_await(&s.submitted, WINDOW));
    cr_assert_eq(rondo_replay(s.exec, &(rondo_replay_args){ .flags = RONDO_NO_WAIT }, NULL),
                 RONDO_ERR_AGAIN, "%s", cases[c].what);
    (void)snprintf(node, sizeof node, "node '%s' waits for the counter", cases[c].node);
    (void)snprintf(source, sizeof source, "0x%llx: at 0, needs 1", (unsigned long long)gate.source);
    for (int i = 0; i < 3000; i++) {
        if (lines_with("a caller waits for room in the window of exec 'gated'", "stalled for 1 s",
                       "0 replays have ended, needs 1") &&
            lines_with("exec 'gated', replay 0", node, source))
            break;
        usleep(10000);
    }
    usleep(1200000); /* a stall is told once */
    if (lines_with("a caller waits for room in the window of exec 'gated'", "", "") != 1 ||
        lines_with("exec 'gated', replay 0", node, source) < 1) {
        print_lines(cases[c].what);
        cr_assert_fail("%s", cases[c].what);
    }
    cr_assert_eq(atomic_load(&s.submitted), WINDOW, "%s: it did not block", cases[c].what);
    cr_assert_eq(atomic_load(&ran), 0, "%s: the gate was open", cases[c].what);
    cr_assert_eq(rondo_counter_raise(counter, 1), RONDO_OK);
    pthread_join(thread, NULL);
    cr_assert_eq(s.status, RONDO_OK);
    cr_assert_eq(rondo_exec_wait(s.exec, NULL), RONDO_OK);
    cr_assert_eq(atomic_load(&ran), WINDOW + 1);
    cr_assert_eq(rondo_exec_destroy(s.exec), RONDO_OK);
    cr_assert_eq(rondo_counter_destroy(counter), RONDO_OK);
    cr_assert_null(et_close_clean(rt));
}

Test(stall, a_full_window_behind_a_counter, .timeout = 240)
{
    cr_assert_eq(setenv("RONDO_STALL_S", "1", 1), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        et_alarm(60, "stall: %s: stuck\n", cases[c].what);
        check(c);
    }
    et_alarm(0, "%s", "");
}
