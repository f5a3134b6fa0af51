/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of Standard Task Graph files on hostile texts: it ends with a graph in which every
 * predecessor comes before its task, or with a line and a reason. */
#include "tests/fuzz/text.h"
#include "tools/stg.h"

static const char *const words[] = {
    "0",          "1",          "2",          "3",
    "4",          "7",          "62",         " ",
    "\t",         "\n",         "\n",         "\n",
    " 0 ",        "\r\n",       "#",          "-1",
    "x",          "1.5",        "\v",         "\xff",
    " 1 ",        " 2 ",        "999999999",  "1000000000",
    "1000000001", "4294967295", "4294967296", "99999999999999999999",
    "1000000",    "1000001",    "\n0 0 0\n",  "\n1 5 1 0\n",
};
enum { WORDS = sizeof words / sizeof words[0] };

static void make_file(struct fuzz_text *t)
{
    uint32_t tasks = 1 + fuzz_below(t, 12), first = fuzz_below(t, 2);
    fuzz_put(t, fuzz_below(t, 4) ? "%u\n" : "%u 7\n", tasks);
    for (uint32_t n = first; n <= tasks + 1; n++) {
        uint32_t most = n - first, count = 0, named[16];
        for (uint32_t p = 0; p < most; p++)
            if (!fuzz_below(t, 3))
                named[count++] = first + p;
        fuzz_put(t, "%u %u %u", n, n && n <= tasks ? fuzz_take(t) : 0, count);
        for (uint32_t i = 0; i < count; i++)
            fuzz_put(t, " %u", named[i]);
        fuzz_put(t, fuzz_below(t, 8) ? "\n" : " \r\n\n");
    }
    fuzz_put(t, "%s", fuzz_below(t, 2) ? "# a comment\n" : "");
}

static void check_graph(const struct stg_graph *graph)
{
    struct stg_extent extent;
    if (!graph->task_count || stg_measure(graph, &extent) || extent.critical > extent.serial)
        abort();
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct stg_task *task = &graph->tasks[t];
        if (task->first + task->count > graph->predecessor_count || task->time > STG_MAX_TIME)
            abort();
        for (uint32_t i = 0; i < task->count; i++)
            if (graph->predecessors[task->first + i] >= t)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_text t;
    struct stg_graph graph = { 0 };
    struct stg_error error = { 0, "" };
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
    if (how > 2)
        fuzz_damage(&t, words, WORDS);
    FILE *file = fmemopen(t.text, t.length ? t.length : 1, "rb");
    if (!file)
        abort();
    enum stg_status status = stg_read(file, &graph, &error);
    fclose(file);
    if (status == STG_OK) {
        check_graph(&graph);
        stg_free(&graph);
        FUZZ_COUNT(read);
    } else {
        if (status != STG_MALFORMED || !error.line || !error.reason[0] || graph.tasks)
            abort();
        FUZZ_COUNT(refused);
    }
    return 0;
}
