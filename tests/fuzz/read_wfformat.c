/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of WfFormat on hostile texts: it ends with a graph in which every predecessor comes
 * before its task, or with a reason. */
#include "tests/fuzz/text.h"
#include "tools/wfformat.h"

#include <math.h>

static const char *const words[] = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\"\"",
    "null",
    "true",
    "0",
    "1",
    "-1",
    "1.5",
    "1e9",
    "1e400",
    "-0.0",
    "NaN",
    "12345678901234567890",
    "[]",
    "{}",
    "\"workflow\"",
    "\"workflow\":{",
    "\"specification\"",
    "\"specification\":{",
    "\"execution\"",
    "\"execution\":{",
    "\"tasks\"",
    "\"tasks\":[",
    "\"jobs\":[",
    "\"id\"",
    "\"name\"",
    "\"parents\"",
    "\"parents\":[",
    "\"children\"",
    "\"children\":[",
    "\"runtimeInSeconds\"",
    "\"runtime\"",
    "\"a\"",
    "\"b\"",
    "\"c\"",
    "\"d\"",
    "{\"id\":\"a\"",
    "\\u0000",
    "\\u00e9",
    "\\ud800",
    "\xc3\xa9",
    "\xff",
    "\x1b[",
    " ",
    "\n",
    "{\"workflow\":{\"specification\":{\"tasks\":[",
    "{\"workflow\":{\"tasks\":[",
    "]},\"execution\":{\"tasks\":[",
    "]}}}",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":{\"a\":",
};
enum { WORDS = sizeof words / sizeof words[0], TASKS = 10 };

struct edges {
    uint32_t tasks;
    uint8_t edge[TASKS][TASKS]; /* from, to */
};

static void put_list(struct fuzz_text *t, const struct edges *e, uint32_t task, int children)
{
    int any = 0;
    fuzz_put(t, children ? ",\"children\":[" : ",\"parents\":[");
    for (uint32_t other = 0; other < e->tasks; other++)
        if (children ? e->edge[task][other] : e->edge[other][task])
            fuzz_put(t, "%s\"%c\"", any++ ? "," : "", 'a' + (int)other);
    fuzz_put(t, "]");
}

static void put_task(struct fuzz_text *t, const struct edges *e, uint32_t task, int old,
                     uint32_t lists)
{
    fuzz_put(t, "%s{\"%s\":\"%c\"", task ? "," : "", fuzz_below(t, 4) || old ? "id" : "name",
             'a' + (int)task);
    if (lists & 1)
        put_list(t, e, task, 0);
    if (lists & 2)
        put_list(t, e, task, 1);
    if (old)
        fuzz_put(t, ",\"runtime\":%u.%u", fuzz_take(t), fuzz_take(t));
    fuzz_put(t, "}");
}

/* A whole file; the tasks stand in any order, and now and then wait for each other. */
static void make_file(struct fuzz_text *t)
{
    struct edges e = { .tasks = 1 + fuzz_below(t, TASKS) };
    uint32_t lists = 1 + fuzz_below(t, 3), flip = fuzz_below(t, 3), odd = !fuzz_below(t, 16);
    int old = !fuzz_below(t, 3);
    for (uint32_t a = 0; a < e.tasks; a++)
        for (uint32_t b = a + 1; b < e.tasks; b++)
            if (!fuzz_below(t, 4))
                e.edge[flip ? a : b][flip ? b : a] = 1;
    if (odd)
        e.edge[fuzz_below(t, e.tasks)][fuzz_below(t, e.tasks)] = 1;
    fuzz_put(t,
             old ? "{\"workflow\":{\"tasks\":[" : "{\"workflow\":{\"specification\":{\"tasks\":[");
    for (uint32_t a = 0; a < e.tasks; a++)
        put_task(t, &e, a, old, lists);
    fuzz_put(t, old ? "]" : "]},\"execution\":{\"tasks\":[");
    for (uint32_t a = 0; !old && a < e.tasks; a++)
        fuzz_put(t, "%s{\"id\":\"%c\",\"runtimeInSeconds\":%u}", a ? "," : "", 'a' + (int)a,
                 fuzz_take(t));
    fuzz_put(t, old ? "}}" : "]}}}");
}

static void check_graph(const struct wf_graph *graph)
{
    if (!graph->task_count)
        abort();
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct wf_task *task = &graph->tasks[t];
        if (task->first + task->count > graph->predecessor_count || !task->name ||
            !(task->seconds >= 0 && task->seconds <= WF_MAX_SECONDS))
            abort();
        for (uint32_t i = 0; i < task->count; i++)
            if (graph->predecessors[task->first + i] >= t)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_text t;
    struct wf_graph graph = { 0 };
    struct wf_error error = { 0, 0, "" };
    t.at = data;
    t.end = data + size;
    t.length = 0;
    uint32_t how = fuzz_below(&t, 8);
    if (!how)
        fuzz_raw(&t);
    else if (how == 1)
        fuzz_words(&t, words, WORDS);
    else
        make_file(&t);
    if (how > 3)
        fuzz_damage(&t, words, WORDS);
    enum wf_status status = wf_read(t.text, t.length, &graph, &error);
    if (status == WF_OK) {
        check_graph(&graph);
        wf_free(&graph);
        FUZZ_COUNT(read);
    } else {
        if (status != WF_MALFORMED || !error.reason[0] || graph.tasks)
            abort();
        FUZZ_COUNT(refused);
    }
    return 0;
}
