/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of WfFormat: what it reads, and the exact words for what it refuses. */
#include "tools/json_scan.h"
#include "tools/wfformat.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS(tasks) "{\"workflow\": {\"specification\": {\"tasks\": [" tasks "]}}}"
#define TIMED(tasks, times)                                  \
    "{\"workflow\": {\"specification\": {\"tasks\": [" tasks \
    "]}, \"execution\": {\"tasks\": [" times "]}}}"
#define A "{\"id\": \"a\", \"name\": \"first\", \"parents\": [], \"children\": [\"b\"]}"
#define B "{\"id\": \"b\", \"name\": \"second\", \"parents\": [\"a\"], \"children\": []}"

/* ---- what is refused */

static const struct {
    const char *text;
    int line, column; /* 0: the reason says where */
    const char *reason;
} malformed[] = {
    { "", 1, 0, "no JSON: " },
    { "{", 1, 1, "no JSON: " },
    { "{\"workflow\":\n{\"a\": 1,\n}}", 3, 1, "no JSON: " },
    { "{\"workflow\": {\"a\": 1, \"a\": 2}}", 1, 25, "no JSON: " },
    { "{\"workflow\": NaN}", 1, 16, "no JSON: " },
    { "{\"workflow\": 1e999}", 1, 18, "no JSON: " },
    { "{\"workflow\": \"\xff\"}", 1, 14, "no JSON: " },
    { "{\"workflow\": \"\\u0000\"}", 1, 21, "no JSON: " },
    { "{} x", 1, 4, "no JSON: " },
    { "[]", 0, 0, "there is no object \"workflow\"" },
    { "{\"workflow\": []}", 0, 0, "there is no object \"workflow\"" },
    { "{\"workflow\": {}}", 0, 0, "workflow.tasks is no list of tasks, or an empty one" },
    { TASKS(""), 0, 0, "workflow.specification.tasks is no list of tasks, or an empty one" },
    { "{\"workflow\": {\"specification\": 7}}", 0, 0,
      "workflow.specification.tasks is no list of tasks, or an empty one" },
    { TASKS("7"), 0, 0, "workflow.specification.tasks[0] is no object" },
    { TASKS(A ", {}"), 0, 0,
      "workflow.specification.tasks[1]: \"id\" and \"name\" are texts, one at least" },
    { TASKS("{\"id\": 7}"), 0, 0,
      "workflow.specification.tasks[0]: \"id\" and \"name\" are texts, one at least" },
    { TASKS("{\"id\": \"a\"}, {\"id\": \"a\"}"), 0, 0,
      "workflow.specification.tasks[1]: a second task 'a'" },
    { TASKS("{\"id\": \"a\", \"parents\": \"a\"}"), 0, 0, "task 'a': \"parents\" is no list" },
    { TASKS("{\"id\": \"a\", \"parents\": [\"a\"]}"), 0, 0, "task 'a' names itself as a parent" },
    { TASKS("{\"id\": \"a\", \"children\": [\"a\"]}"), 0, 0, "task 'a' names itself as a child" },
    { TASKS("{\"id\": \"a\", \"parents\": [\"x\"]}"), 0, 0,
      "task 'a' names parent 'x', which is no task, or several" },
    { TASKS("{\"id\": \"a\", \"children\": [7]}"), 0, 0,
      "task 'a' names child '(no text)', which is no task, or several" },
    { TASKS("{\"id\": \"a\", \"name\": \"n\"}, {\"id\": \"b\", \"name\": \"n\"}, "
            "{\"id\": \"c\", \"parents\": [\"n\"]}"),
      0, 0, "task 'c' names parent 'n', which is no task, or several" },
    { TASKS("{\"id\": \"a\"}, {\"id\": \"b\", \"parents\": [\"a\", \"a\"]}"), 0, 0,
      "the edge from task 'a' to task 'b' is named twice" },
    { TASKS(A ", {\"id\": \"b\", \"parents\": []}"), 0, 0,
      "task 'a' names child 'b', whose parents do not name it" },
    { TASKS("{\"id\": \"a\", \"children\": []}, " B), 0, 0,
      "task 'a' is named by the parents of 'b', and does not name it as a child" },
    { TASKS("{\"id\": \"a\", \"parents\": [\"c\"]}, {\"id\": \"b\", \"parents\": [\"a\"]}, "
            "{\"id\": \"c\", \"parents\": [\"b\"]}"),
      0, 0, "tasks wait for each other: a -> b -> c -> a" },
    { TIMED(A "," B, "{\"id\": \"x\", \"runtimeInSeconds\": 1}"), 0, 0,
      "workflow.execution.tasks[0] is of task 'x', which is no task" },
    { TIMED(A "," B, "7"), 0, 0,
      "workflow.execution.tasks[0] is of task '(no id)', which is no task" },
    { TIMED(A "," B, "{\"id\": \"a\", \"runtimeInSeconds\": 1}, {\"id\": \"a\"}"), 0, 0,
      "workflow.execution.tasks[1] is of task 'a', as one before" },
    { TIMED(A "," B, "{\"id\": \"a\", \"runtimeInSeconds\": -1}"), 0, 0,
      "task 'a': its run time must be 0 to 1e+09 seconds, not -1" },
    { TIMED(A "," B, "{\"id\": \"a\", \"runtimeInSeconds\": 1e300}"), 0, 0,
      "task 'a': its run time must be 0 to 1e+09 seconds, not 1e+300" },
    { TIMED(A "," B, "{\"id\": \"a\", \"runtimeInSeconds\": \"1\"}"), 0, 0,
      "task 'a': its run time must be 0 to 1e+09 seconds, not something else" },
    { "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": -0.5}]}}", 0, 0,
      "task 'a': its run time must be 0 to 1e+09 seconds, not -0.5" },
    { TASKS("{\"id\": \"\\u001b[31m\\u009b\", \"parents\": \"\"}"), 0, 0,
      "task '?[31m?\?': \"parents\" is no list" },
};

Test(files, wfformat_is_refused_with_place_and_reason)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        struct wf_graph graph = { .task_count = 77 };
        struct wf_error error = { 0, 0, "" };
        enum wf_status status =
            wf_read(malformed[i].text, strlen(malformed[i].text), &graph, &error);
        cr_expect(status == WF_MALFORMED, "case %zu: status %d", i, (int)status);
        cr_expect(error.line == malformed[i].line && error.column == malformed[i].column,
                  "case %zu: at %d:%d", i, error.line, error.column);
        /* What is no JSON is told in the library's words, which are not ours to test. */
        size_t length = error.line ? strlen(malformed[i].reason) : sizeof error.reason;
        cr_expect(!strncmp(error.reason, malformed[i].reason, length), "case %zu: '%s', not '%s'",
                  i, error.reason, malformed[i].reason);
        cr_expect(graph.task_count == 77 && !graph.tasks, "case %zu: the output is written", i);
    }
}

/* ---- what is read */

/* The graph as text: "name seconds <predecessors;". */
static void graph_text(const struct wf_graph *g, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t t = 0; t < g->task_count; t++) {
        used += (size_t)snprintf(text + used, room - used, "%s %g", g->tasks[t].name,
                                 g->tasks[t].seconds);
        for (uint32_t i = 0; i < g->tasks[t].count; i++)
            used += (size_t)snprintf(text + used, room - used, " <%u",
                                     g->predecessors[g->tasks[t].first + i]);
        used += (size_t)snprintf(text + used, room - used, ";");
    }
}

static const struct {
    const char *text, *graph;
} good[] = {
    { TIMED(A "," B, "{\"id\": \"b\", \"runtimeInSeconds\": 1.5}, {\"id\": \"a\"}"),
      "first 0;second 1.5 <0;" },
    /* A child that stands before its parent. */
    { TASKS(B "," A), "first 0;second 0 <0;" },
    /* Only one of the two lists. */
    { TASKS("{\"id\": \"a\", \"children\": [\"b\"]}, {\"id\": \"b\"}"), "a 0;b 0 <0;" },
    { TASKS("{\"id\": \"a\"}, {\"id\": \"b\", \"parents\": [\"a\"]}"), "a 0;b 0 <0;" },
    /* Names where there are no ids, or beside them; an id goes before a name. */
    { TASKS("{\"name\": \"a\"}, {\"name\": \"b\", \"parents\": [\"a\"]}"), "a 0;b 0 <0;" },
    { TASKS("{\"id\": \"1\", \"name\": \"a\"}, {\"id\": \"2\", \"name\": \"b\", "
            "\"parents\": [\"a\"]}"),
      "a 0;b 0 <0;" },
    { TASKS("{\"id\": \"1\", \"name\": \"2\"}, {\"id\": \"2\", \"name\": \"b\"}, "
            "{\"id\": \"3\", \"name\": \"c\", \"parents\": [\"2\"]}"),
      "2 0;b 0;c 0 <1;" },
    /* Before schema 1.5. */
    { "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": 2}, {\"name\": \"b\", "
      "\"runtimeInSeconds\": 0.5, \"runtime\": 9, \"parents\": [\"a\"]}]}}",
      "a 2;b 0.5 <0;" },
    { "{\"workflow\": {\"jobs\": [{\"name\": \"a\", \"runtime\": null}]}}", "a 0;" },
    /* Whole numbers that fit in no integer type are still numbers. */
    { "{\"x\": 123456789012345678901234567890, \"workflow\": {\"tasks\": [{\"name\": "
      "\"\xc3\xa9\"}]}}",
      "\xc3\xa9 0;" },
};

Test(files, wfformat_is_read)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct wf_graph graph;
        struct wf_error error = { 0, 0, "" };
        char text[256];
        enum wf_status status = wf_read(good[i].text, strlen(good[i].text), &graph, &error);
        cr_expect(status == WF_OK, "case %zu: %s", i, error.reason);
        if (status)
            continue;
        graph_text(&graph, text, sizeof text);
        cr_expect(!strcmp(text, good[i].graph), "case %zu: '%s'", i, text);
        wf_free(&graph);
    }
}

Test(files, wfformat_cut_off_anywhere_is_refused)
{
    static const char whole[] = TIMED(A ", " B, "{\"id\": \"a\", \"runtimeInSeconds\": 12.5}");
    for (size_t length = 0; length < sizeof whole; length++) {
        struct wf_graph graph = { 0 };
        struct wf_error error = { 0, 0, "" };
        char *copy = malloc(length ? length : 1); /* so that a look behind the end is noticed */
        cr_assert(copy != NULL);
        memcpy(copy, whole, length);
        enum wf_status status = wf_read(copy, length, &graph, &error);
        cr_expect(status == (length < sizeof whole - 1 ? WF_MALFORMED : WF_OK), "cut at %zu: %d",
                  length, (int)status);
        free(copy);
        wf_free(&graph);
    }
}

Test(files, wfformat_survives_any_byte_anywhere)
{
    static const char whole[] = TIMED(A "," B, "{\"id\": \"b\", \"runtimeInSeconds\": 2}");
    char bytes[sizeof whole];
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (int byte = 0; byte < 256; byte++) {
            struct wf_graph graph = { 0 };
            struct wf_error error = { 0, 0, "" };
            memcpy(bytes, whole, sizeof whole);
            bytes[at] = (char)byte;
            enum wf_status status = wf_read(bytes, sizeof whole - 1, &graph, &error);
            cr_expect(status == WF_OK || (status == WF_MALFORMED && error.reason[0]),
                      "byte %d at %zu: status %d", byte, at, (int)status);
            wf_free(&graph);
        }
}

/* ---- large and hostile ones */

struct large {
    char *text;
    size_t length, room;
};

static void put(struct large *l, const char *text)
{
    size_t more = strlen(text);
    if (l->length + more + 1 > l->room) {
        l->room = 2 * (l->room + more + 1);
        l->text = realloc(l->text, l->room);
        cr_assert(l->text != NULL);
    }
    memcpy(l->text + l->length, text, more + 1);
    l->length += more;
}

static enum wf_status read_large(struct large *l, struct wf_graph *graph, struct wf_error *error)
{
    enum wf_status status = wf_read(l->text, l->length, graph, error);
    free(l->text);
    return status;
}

/* The whole text as a chain against the order of the file: no recursion, no quadratic time. */
Test(files, a_long_chain_backwards_is_read)
{
    enum { TASKS_MANY = 50000 };
    struct large l = { 0 };
    struct wf_graph graph;
    struct wf_error error = { 0, 0, "" };
    char task[96];
    put(&l, "{\"workflow\": {\"tasks\": [");
    for (int t = 0; t < TASKS_MANY - 1; t++) {
        snprintf(task, sizeof task, "{\"name\": \"t%d\", \"parents\": [\"t%d\"]},\n", t, t + 1);
        put(&l, task);
    }
    snprintf(task, sizeof task, "{\"name\": \"t%d\"}]}}", TASKS_MANY - 1);
    put(&l, task);
    cr_assert(read_large(&l, &graph, &error) == WF_OK, "%s", error.reason);
    cr_assert(graph.task_count == TASKS_MANY && graph.predecessor_count == TASKS_MANY - 1);
    for (uint32_t t = 0; t < TASKS_MANY; t++) {
        snprintf(task, sizeof task, "t%u", TASKS_MANY - 1 - t);
        cr_assert(!strcmp(graph.tasks[t].name, task) && graph.tasks[t].count == (t > 0));
        cr_assert(!t || graph.predecessors[graph.tasks[t].first] == t - 1);
    }
    wf_free(&graph);
}

Test(files, a_long_circle_is_named_in_short)
{
    struct large l = { 0 };
    struct wf_graph graph;
    struct wf_error error = { 0, 0, "" };
    char task[96];
    put(&l, "{\"workflow\": {\"tasks\": [");
    for (int t = 0; t < 1000; t++) {
        snprintf(task, sizeof task, "%s{\"name\": \"t%d\", \"parents\": [\"t%d\"]}", t ? "," : "",
                 t, (t + 999) % 1000);
        put(&l, task);
    }
    put(&l, "]}}");
    cr_assert(read_large(&l, &graph, &error) == WF_MALFORMED);
    cr_assert(!strncmp(error.reason, "tasks wait for each other: t", 28), "%s", error.reason);
    cr_assert(strstr(error.reason, " more) -> t") != NULL, "%s", error.reason);
}

Test(files, deep_nesting_is_refused)
{
    static const char *const openings[] = { "[", "{\"a\":" };
    for (int i = 0; i < 2; i++) {
        struct large l = { 0 };
        struct wf_graph graph;
        struct wf_error error = { 0, 0, "" };
        put(&l, "{\"workflow\": ");
        for (int depth = 0; depth < 200000; depth++)
            put(&l, openings[i]);
        cr_expect(read_large(&l, &graph, &error) == WF_MALFORMED);
        cr_expect(strstr(error.reason, "maximum parsing depth") != NULL, "%s", error.reason);
    }
}

/* Fifty megabytes that would become a tree of more than three gigabytes. */
Test(files, a_text_that_grows_is_refused_before_it_does)
{
    struct large l = { 0 };
    struct wf_graph graph;
    struct wf_error error = { 0, 0, "" };
    char block[3 * 4096 + 1];
    for (size_t i = 0; i < sizeof block - 1; i++)
        block[i] = "[],"[i % 3];
    block[sizeof block - 1] = '\0';
    put(&l, "{\"workflow\": [");
    while (l.length < 52000000)
        put(&l, block);
    put(&l, "0]}");
    cr_assert(read_large(&l, &graph, &error) == WF_MALFORMED);
    cr_assert(!strcmp(error.reason, "more than 3221225472 bytes of memory would be needed to read "
                                    "it"),
              "%s", error.reason);
}

Test(files, what_stands_at_the_top_is_found)
{
    static const struct {
        const char *text;
        int workflow, rondo;
    } texts[] = {
        { "{\"workflow\": {}}", 1, 0 },    { "{\"rondo\" : 1, \"x\": {\"workflow\": 1}}", 0, 1 },
        { "{\"x\": \"workflow\"}", 0, 0 }, { "{\"x\\\"\": 1, \"workflow\"\n:2}", 1, 0 },
        { "[{\"workflow\": 1}]", 0, 0 },   { "{\"a\": [1, {}], \"workflow\":", 1, 0 },
        { "{\"workflow\"", 0, 0 },         { "{\"workflow\\", 0, 0 },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json_scan scan = json_scan(texts[i].text, strlen(texts[i].text));
        cr_expect(scan.has_workflow == texts[i].workflow && scan.has_rondo == texts[i].rondo,
                  "case %zu: %d %d", i, scan.has_workflow, scan.has_rondo);
    }
}
