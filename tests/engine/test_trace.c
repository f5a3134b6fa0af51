/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces and the times of nodes: what ran when, in every mode, and nothing else. */
#include "tests/engine/engine_check.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a trace as text, and read again */

struct text {
    char *at;
    size_t used, room;
};

static void gather(void *context, const char *piece)
{
    struct text *t = context;
    size_t n = strlen(piece);
    if (t->used + n + 1 > t->room) {
        t->room = 2 * (t->used + n + 1);
        t->at = realloc(t->at, t->room);
        if (!t->at)
            abort();
    }
    memcpy(t->at + t->used, piece, n + 1);
    t->used += n;
}

static json_t *read_json(const char *text)
{
    json_error_t error;
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(v != NULL, "line %d, column %d: %s", error.line, error.column, error.text);
    return v;
}
static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    cr_assert(json_is_number(v), "'%s' is no number", key);
    return json_number_value(v);
}
static const char *text(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    cr_assert(json_is_string(v), "'%s' is no text", key);
    return json_string_value(v);
}

static json_t *stop(rondo_runtime rt)
{
    struct text t = { NULL, 0, 0 };
    json_t *v;
    ET_OK(rondo_trace_stop(rt, gather, &t));
    v = read_json(t.at);
    free(t.at);
    return v;
}

/* The first span from event `at` on, which moves behind it; NULL: there is none. */
static const json_t *span_at(const json_t *trace, size_t *at)
{
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    while ((event = json_array_get(events, (*at)++)) && strcmp(text(event, "ph"), "X") != 0) {}
    return event;
}
static size_t count_spans(const json_t *trace, const char *name)
{
    size_t n = 0, at = 0;
    for (const json_t *s; (s = span_at(trace, &at));)
        n += !name || !strcmp(text(s, "name"), name);
    return n;
}

/* ---- tasks */

static int spin(rondo_task *self, const void *arg)
{
    int64_t end = et_now_ns() + *(const int64_t *)arg;
    (void)self;
    while (et_now_ns() < end)
        ;
    return 0;
}

static rondo_node record(rondo_subgraph g, const char *name, int64_t ns, rondo_node after,
                         uint32_t on)
{
    return rondo_record_task(g, &(rondo_task_desc){ .name = name,
                                                    .fn = spin,
                                                    .tag = (uint64_t)ns,
                                                    .arg = &ns,
                                                    .arg_bytes = sizeof ns,
                                                    .after = &after,
                                                    .after_count = after.id != 0,
                                                    .on = on,
                                                    .flags = RONDO_NO_ACCESS });
}

/* Names that must not break a string, and what they are read as. */
static const struct {
    const char *name, *read;
} names[3] = {
    { "quote \" and \\ and \n\t\x01 end", "quote \" and \\ and \n\t\x01 end" },
    { "Stra\xc3\x9f"
      "e \xe2\x82\xac \xf0\x9f\x98\x80",
      "Stra\xc3\x9f"
      "e \xe2\x82\xac \xf0\x9f\x98\x80" },
    { "bad \xff\xc0\xaf \xed\xa0\x80.", "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd." },
};
enum { SPIN_NS = 20000, REPLAYS = 4 };

static rondo_exec three_nodes(rondo_runtime rt, const struct et_mode *mode, uint32_t workers)
{
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node a;
    ET_OK(rondo_subgraph_create(rt, &(rondo_subgraph_desc){ .name = "three 'nodes'" }, &g));
    a = record(g, names[0].name, SPIN_NS, (rondo_node){ 0 }, RONDO_CPU(0));
    ET_HANDLE(a);
    ET_HANDLE(record(g, names[1].name, SPIN_NS + 1, a, RONDO_CPU(workers - 1)));
    ET_HANDLE(record(g, names[2].name, SPIN_NS + 2, a, RONDO_CPU(0)));
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

static void check_span(const json_t *s, double wall_us, unsigned char seen[3][REPLAYS])
{
    const json_t *args = json_object_get(s, "args");
    double begin = number(s, "ts"), duration = number(s, "dur");
    size_t node = (size_t)number(args, "node"), replay = (size_t)number(args, "replay");
    cr_assert(node < 3 && replay < REPLAYS);
    cr_assert_str_eq(text(s, "name"), names[node].read);
    cr_assert(number(args, "tag") == (double)(SPIN_NS + node));
    cr_assert(duration >= SPIN_NS / 1000.0 && begin >= 0 && begin + duration <= wall_us,
              "%g + %g of %g us", begin, duration, wall_us);
    cr_assert(!seen[node][replay]++, "node %zu twice in replay %zu", node, replay);
}

/* Each lane's name, and that its spans do not add up to more than the time that passed. */
static void check_lanes(const json_t *trace, double wall_us, uint32_t workers)
{
    const json_t *events = json_object_get(trace, "traceEvents"), *e, *s;
    uint32_t lanes = 0;
    for (size_t i = 0; (e = json_array_get(events, i)); i++) {
        const char *name = strcmp(text(e, "name"), "thread_name") != 0
                               ? NULL
                               : text(json_object_get(e, "args"), "name");
        double sum = 0;
        size_t at = 0;
        char expected[96];
        if (!name)
            continue;
        snprintf(expected, sizeof expected, "exec 'three 'nodes'' lane %u (cpu %u)",
                 (unsigned)(name[strlen("exec 'three 'nodes'' lane ")] - '0'),
                 (unsigned)(name[strlen(name) - 2] - '0'));
        cr_assert_str_eq(name, expected);
        while ((s = span_at(trace, &at)))
            if (number(s, "tid") == number(e, "tid"))
                sum += number(s, "dur");
        cr_assert(sum > 0 && sum <= wall_us, "lane '%s': %g of %g us", name, sum, wall_us);
        lanes++;
    }
    cr_assert(lanes >= 1 && lanes <= workers, "%u lanes", lanes);
}

static void twelve_spans(const struct et_mode *mode, uint32_t workers)
{
    rondo_runtime rt = et_runtime(workers);
    unsigned char seen[3][REPLAYS] = { { 0 } };
    rondo_exec exec = three_nodes(rt, mode, workers);
    const json_t *s;
    json_t *trace;
    double wall_us;
    int64_t begin = et_now_ns();
    ET_OK(rondo_trace_start(rt, 0));
    for (int i = 0; i < REPLAYS; i++)
        ET_OK(rondo_replay(exec, NULL, NULL));
    ET_OK(rondo_exec_wait(exec, NULL));
    wall_us = (double)(et_now_ns() - begin) / 1000;
    trace = stop(rt);
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert_eq(count_spans(trace, NULL), 3 * REPLAYS, "%s: %zu spans", mode->name,
                 count_spans(trace, NULL));
    for (size_t at = 0; (s = span_at(trace, &at));)
        check_span(s, wall_us, seen);
    check_lanes(trace, wall_us, workers);
    json_decref(trace);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

Test(trace, a_span_per_node_and_replay, .timeout = 60)
{
    for (int m = 0; m < ET_MODES; m++)
        for (uint32_t workers = 1; workers <= 2; workers++)
            twelve_spans(&et_modes[m], workers);
}

/* ---- life */

Test(trace, starts_and_stops, .timeout = 60)
{
    rondo_runtime rt = et_runtime(1);
    rondo_runtime_statistics before, after;
    rondo_exec exec = three_nodes(rt, &et_modes[1], 1);
    json_t *trace;
    struct text none = { NULL, 0, 0 };
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    ET_IS(rondo_trace_stop(rt, gather, &none), RONDO_ERR_INVALID);
    ET_SAYS("no trace runs");
    ET_IS(rondo_trace_start((rondo_runtime){ 0 }, 0), RONDO_ERR_INVALID);
    ET_OK(rondo_runtime_stats(rt, &before));
    ET_OK(rondo_trace_start(rt, 0));
    ET_IS(rondo_trace_start(rt, 0), RONDO_ERR_INVALID);
    ET_SAYS("runs already");
    ET_IS(rondo_trace_stop(rt, NULL, NULL), RONDO_ERR_INVALID);
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    /* The exec is gone, with its names, before the trace is written. */
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_runtime_drain(rt));
    exec = three_nodes(rt, &et_modes[0], 1);
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    trace = stop(rt);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(count_spans(trace, names[i].read), 2);
    json_decref(trace);
    /* Nothing stays of it, and nothing is traced any more. */
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_runtime_drain(rt));
    ET_OK(rondo_runtime_stats(rt, &after));
    cr_assert(after.bytes < before.bytes, "%llu bytes before, %llu after the exec is gone",
              (unsigned long long)before.bytes, (unsigned long long)after.bytes);
    cr_assert_null(none.at);
    ET_OK(rondo_trace_start(rt, 0));
    trace = stop(rt);
    cr_assert_eq(count_spans(trace, NULL), 0);
    json_decref(trace);
    ET_CLOSE(rt);
}

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

/* A chain of so many nodes that do nothing. */
static rondo_exec chain(rondo_runtime rt, int nodes, uint32_t mode)
{
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node last = { 0 };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (int i = 0; i < nodes; i++)
        last = rondo_record_task(g, &(rondo_task_desc){ .name = "n",
                                                        .fn = nothing,
                                                        .after = &last,
                                                        .after_count = i > 0,
                                                        .flags = RONDO_NO_ACCESS });
    ET_OK(rondo_instantiate(g, &(rondo_instantiate_options){ .mode = mode }, &exec));
    ET_OK(rondo_subgraph_destroy(g));
    return exec;
}

Test(trace, keeps_so_many_and_counts_the_rest, .timeout = 60)
{
    rondo_runtime rt = et_runtime(1);
    rondo_exec exec = chain(rt, 10, RONDO_COMPILED);
    json_t *trace;
    ET_OK(rondo_trace_start(rt, 2500)); /* more than one chunk of them */
    ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 1000 }, -1, NULL));
    trace = stop(rt);
    cr_assert_eq(count_spans(trace, "n"), 2500);
    cr_assert_str_eq(text(json_object_get(trace, "otherData"), "spans"), "2500");
    cr_assert_str_eq(text(json_object_get(trace, "otherData"), "dropped"), "7500");
    json_decref(trace);
    ET_OK(rondo_exec_destroy(exec));
    ET_CLOSE(rt);
}

struct replaying {
    rondo_exec exec;
    atomic_int over;
};

static void *replay_on(void *argument)
{
    struct replaying *r = argument;
    while (!atomic_load(&r->over))
        ET_OK(rondo_replay_and_wait(r->exec, &(rondo_replay_args){ .count = 3 }, -1, NULL));
    return NULL;
}

Test(trace, stops_in_the_midst_of_replays, .timeout = 120)
{
    rondo_runtime rt = et_runtime(2);
    struct replaying r[2] = { { chain(rt, 50, RONDO_COMPILED), 0 },
                              { chain(rt, 50, RONDO_INTERPRETED), 0 } };
    size_t spans = 0;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, replay_on, &r[i]), 0);
    for (uint64_t k = 0; k < et_scaled(20, 3) || !spans; k++) { /* a busy machine may run none */
        json_t *trace;
        ET_OK(rondo_trace_start(rt, 200));
        usleep(500);
        trace = stop(rt);
        spans += count_spans(trace, NULL);
        json_decref(trace);
    }
    for (int i = 0; i < 2; i++) {
        atomic_store(&r[i].over, 1);
        pthread_join(thread[i], NULL);
        ET_OK(rondo_exec_destroy(r[i].exec));
    }
    cr_assert(spans > 0);
    ET_CLOSE(rt);
}

/* ---- the environment */

static json_t *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    static char all[1 << 16];
    size_t n;
    cr_assert(f != NULL, "%s", path);
    n = fread(all, 1, sizeof all - 1, f);
    all[n] = 0;
    fclose(f);
    unlink(path);
    return read_json(all);
}

Test(trace, from_the_environment, .timeout = 60)
{
    char path[64], second[80];
    rondo_runtime rt[2];
    json_t *trace;
    snprintf(path, sizeof path, "/tmp/rondo-test-trace-%d.json", (int)getpid());
    snprintf(second, sizeof second, "%s.2", path);
    setenv("RONDO_TRACE", path, 1);
    for (int i = 0; i < 2; i++)
        rt[i] = et_runtime(1);
    for (int i = 0; i < 2; i++) {
        rondo_exec exec = three_nodes(rt[i], &et_modes[i], 1);
        ET_OK(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 2u + (unsigned)i }, -1,
                                    NULL));
        ET_OK(rondo_exec_destroy(exec));
        ET_CLOSE(rt[i]);
    }
    for (int i = 0; i < 2; i++) {
        trace = read_file(i ? second : path);
        cr_assert_eq(count_spans(trace, NULL), (size_t)(3 * (2 + i)));
        json_decref(trace);
    }
    /* What cannot be written does not keep a runtime from opening. */
    setenv("RONDO_TRACE", "/nowhere/at/all", 1);
    rt[0] = et_runtime(1);
    ET_OK(rondo_trace_start(rt[0], 0));
    ET_CLOSE(rt[0]);
    unsetenv("RONDO_TRACE");
}

/* ---- what does not run leaves nothing */

static int fail_in_replay_1(rondo_task *self, const void *arg)
{
    (void)arg;
    return self->replay == 1 ? rondo_task_fail(self, "as asked") : 0;
}

static void skipped_nodes(const struct et_mode *mode)
{
    rondo_runtime rt = et_runtime(2);
    rondo_subgraph g;
    rondo_exec exec;
    rondo_node fails, behind;
    rondo_param p;
    int32_t off = 0;
    json_t *trace;
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule,
                                    .on_failure = RONDO_ON_FAILURE_CONTINUE };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    p = rondo_subgraph_param(g, "p", sizeof off, &off);
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){
               .name = "never", .fn = nothing, .when = { .param = p }, .flags = RONDO_NO_ACCESS }));
    fails = rondo_record_task(
        g, &(rondo_task_desc){ .name = "fails", .fn = fail_in_replay_1, .flags = RONDO_NO_ACCESS });
    behind = rondo_record_task(g, &(rondo_task_desc){ .name = "behind",
                                                      .fn = nothing,
                                                      .after = &fails,
                                                      .after_count = 1,
                                                      .flags = RONDO_NO_ACCESS });
    ET_HANDLE(behind);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_trace_start(rt, 0));
    ET_IS(rondo_replay_and_wait(exec, &(rondo_replay_args){ .count = 5 }, -1, NULL),
          RONDO_ERR_FAILED);
    trace = stop(rt);
    cr_assert_eq(count_spans(trace, "never"), 0, "%s", mode->name);
    cr_assert_eq(count_spans(trace, "fails"), 5, "%s", mode->name);
    cr_assert_eq(count_spans(trace, "behind"), 4, "%s", mode->name);
    json_decref(trace);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(trace, what_is_skipped_leaves_no_span, .timeout = 60)
{
    for (int m = 0; m < ET_MODES; m++)
        skipped_nodes(&et_modes[m]);
}

/* ---- times of nodes and replays */

static void described(void *context, const char *text) { gather(context, text); }

static void times(const struct et_mode *mode)
{
    rondo_runtime rt = et_runtime(2);
    rondo_instantiate_options o = { .mode = mode->mode,
                                    .order = mode->order,
                                    .schedule = mode->schedule };
    rondo_replay_args timed = { .flags = RONDO_TIMED, .count = 5 };
    struct text page = { NULL, 0, 0 };
    rondo_node_info info;
    rondo_node node[2];
    rondo_result result;
    rondo_subgraph g;
    rondo_exec exec;
    int64_t before, after;
    double mean_ns[2];
    const char *at[2];
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    node[0] = record(g, "short", SPIN_NS, (rondo_node){ 0 }, RONDO_ANY_CPU);
    node[1] = record(g, "long", 3 * SPIN_NS, node[0], RONDO_ANY_CPU);
    ET_OK(rondo_instantiate(g, &o, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, &result));
    cr_assert(result.begin_ns == 0 && result.end_ns == 0);
    ET_OK(rondo_exec_node_info(exec, node[0], &info));
    cr_assert(info.runs == 0 && info.mean_ns == 0);
    before = et_now_ns();
    ET_OK(rondo_replay_and_wait(exec, &timed, -1, &result));
    after = et_now_ns();
    cr_assert(result.begin_ns >= before && result.end_ns <= after &&
                  result.end_ns - result.begin_ns >= 4 * SPIN_NS,
              "%s: from %lld to %lld within %lld", mode->name,
              (long long)(result.begin_ns - before), (long long)(result.end_ns - before),
              (long long)(after - before));
    for (int i = 0; i < 2; i++) {
        double least = i ? 3 * SPIN_NS : SPIN_NS;
        ET_OK(rondo_exec_node_info(exec, node[i], &info));
        mean_ns[i] = info.mean_ns;
        cr_assert(info.runs == 5 && info.min_ns >= least && info.mean_ns >= info.min_ns &&
                      info.max_ns >= info.mean_ns && info.max_ns <= (double)(after - before),
                  "%s: %llu runs, %g %g %g ns", mode->name, (unsigned long long)info.runs,
                  info.min_ns, info.mean_ns, info.max_ns);
    }
    ET_OK(rondo_exec_describe(exec, described, &page));
    /* A preempted short one has taken longer. */
    at[0] = strstr(page.at, "'short'");
    at[1] = strstr(page.at, "'long'");
    cr_assert(at[0] && at[1] && (at[1] < at[0]) == (mean_ns[1] >= mean_ns[0]),
              "the slowest first:\n%s", page.at);
    free(page.at);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(trace, times_of_nodes_and_replays, .timeout = 60)
{
    for (int m = 0; m < ET_MODES; m++)
        times(&et_modes[m]);
}
