/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph files as recordings: what is taken of them, written back, hinted at, and what the bodies of
 * `rondo run` notice. */
#include "tests/support/scale.h"
#include "tools/cli.h"
#include "tools/hints.h"
#include "tools/job.h"
#include "tools/stg_write.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- graphs of texts */

struct rig {
    rondo_runtime runtime;
    struct file *file;
};

static void open_rig(struct rig *r, const char *text)
{
    char path[] = "/tmp/rondo-test-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int status = file_open(path, &r->file);
    unlink(path);
    cr_assert(status == 0, "%s", text);
    cr_assert(rondo_runtime_open(NULL, &r->runtime) == RONDO_OK);
}

static void close_rig(struct rig *r)
{
    file_close(r->file);
    cr_assert(rondo_runtime_close(r->runtime) == RONDO_OK);
}

static void take(struct rig *r, double times, struct file_graph *file, struct graph *graph)
{
    struct file_options options = { .scale = 1000, .times = times };
    cr_assert(graph_record(r->file, r->runtime, &options, NULL, file, graph) == 0);
}

static void drop(struct file_graph *file, struct graph *graph)
{
    cr_assert(rondo_subgraph_destroy(file->subgraph) == RONDO_OK);
    graph_free(graph);
}

static const char diamond[] = "\n  4\n0 0 0\n1 3 1 0\n2 5 1 1\n3 7 1 1\n4 2 3 1 2 3\n5 0 1 4\n";

Test(graphs, a_file_is_taken_apart)
{
    struct rig r;
    struct file_graph file;
    struct graph g;
    open_rig(&r, diamond);
    take(&r, 0, &file, &g);
    cr_expect(!strcmp(file.format, "stg") && file.nodes == 6 && !file.counters);
    cr_expect(g.nodes == 6 && g.edges == 7 && !g.carried && g.inner_most == 3);
    cr_expect(g.work_ns == 17000 && g.critical_ns == 12000, "%g %g", g.work_ns, g.critical_ns);
    cr_expect(!strcmp(g.node[2].name, "task 2") && g.node[2].tag == 2 && g.node[2].cost_ns == 5000);
    for (uint32_t v = 0; v < 6; v++)
        cr_expect(g.order && g.order[v] == v, "an order that will do is kept");
    cr_expect(graph_redundant(&g) == 1);
    drop(&file, &g);
    take(&r, 0.001, &file, &g);
    cr_expect(g.work_ns == 17 && g.critical_ns == 12, "%g %g", g.work_ns, g.critical_ns);
    drop(&file, &g);
    close_rig(&r);
}

Test(graphs, times_of_more_than_a_recording_keeps_are_kept)
{
    struct rig r;
    struct file_graph file;
    struct graph g;
    open_rig(&r, "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtime\": 100},"
                 "{\"name\": \"b\", \"runtime\": 200, \"parents\": [\"a\"]}]}}");
    take(&r, 0, &file, &g);
    cr_expect(!strcmp(file.format, "wfformat") && g.work_ns == 3e11 && g.critical_ns == 3e11);
    drop(&file, &g);
    close_rig(&r);
}

/* ---- random graphs */

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

enum { RANDOM_TASKS = 24 };

/* A file of `tasks` tasks and the two dummies. */
static void random_file(uint64_t *seed, uint32_t tasks, uint32_t first, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "%u\n", tasks);
    for (uint32_t t = first; t <= tasks + 1; t++) {
        uint32_t named[RANDOM_TASKS + 2], count = 0, dummy = !t || t > tasks;
        for (uint32_t p = first; p < t; p++)
            if (!random_below(seed, 3))
                named[count++] = p;
        used += (size_t)snprintf(text + used, room - used, "%u %u %u", t,
                                 dummy ? 0 : random_below(seed, 9), count);
        for (uint32_t i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, room - used, " %u", named[i]);
        used += (size_t)snprintf(text + used, room - used, "\n");
    }
}

/* Runs of blanks as one space, none at the beginning of a line. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != '\n' && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

Test(graphs, a_stg_file_comes_back_as_it_was)
{
    uint64_t seed = 1;
    for (uint64_t round = 0; round < rd_test_scaled(60); round++) {
        char text[8192], back[16384] = "", why[320];
        struct rig r;
        struct file_graph file;
        struct graph g;
        random_file(&seed, 1 + random_below(&seed, RANDOM_TASKS), random_below(&seed, 2), text,
                    sizeof text);
        open_rig(&r, text);
        take(&r, 0, &file, &g);
        cr_assert(stg_holds(&g, 1000, why, sizeof why) == 0, "%s", why);
        FILE *to = fmemopen(back, sizeof back, "w");
        cr_assert(to != NULL && stg_write(&g, 1000, to) == 0);
        fclose(to);
        squeeze(back);
        cr_assert(!strcmp(text, back), "%s became %s", text, back);
        drop(&file, &g);
        close_rig(&r);
    }
}

/* An edge is redundant if its end can be reached without it. */
static int reaches(const struct graph *g, uint32_t from, uint32_t to, size_t without)
{
    for (size_t i = g->first[to]; i < g->first[to + 1]; i++)
        if (i != without && (g->edge[i].from == from || reaches(g, from, g->edge[i].from, without)))
            return 1;
    return 0;
}

Test(graphs, redundant_edges_are_counted)
{
    uint64_t seed = 7;
    for (uint64_t round = 0; round < rd_test_scaled(40); round++) {
        char text[8192];
        struct rig r;
        struct file_graph file;
        struct graph g;
        random_file(&seed, 1 + random_below(&seed, 14), 0, text, sizeof text);
        open_rig(&r, text);
        take(&r, 0, &file, &g);
        size_t expected = 0;
        for (size_t i = 0; i < g.edges; i++)
            expected += (size_t)reaches(&g, g.edge[i].from, g.edge[i].to, i);
        cr_assert(graph_redundant(&g) == expected, "%zu, not %zu of %s", graph_redundant(&g),
                  expected, text);
        drop(&file, &g);
        close_rig(&r);
    }
}

/* ---- times */

Test(graphs, rounded_times_are_counted)
{
    char back[512] = "";
    struct rig r;
    struct file_graph file;
    struct graph g;
    open_rig(&r, diamond);
    take(&r, 0, &file, &g);
    FILE *to = fmemopen(back, sizeof back, "w");
    cr_assert(to != NULL && stg_write(&g, 2000, to) == 3);
    fclose(to);
    drop(&file, &g);
    close_rig(&r);
}

/* ---- hints */

static const struct hint *hint_of(const struct hints *h, const char *kind)
{
    for (int i = 0; i < h->count; i++)
        if (!strcmp(h->hint[i].kind, kind))
            return &h->hint[i];
    return NULL;
}

Test(graphs, hints_say_what_could_be_better)
{
    static const struct {
        const char *text;
        double handover_ns;
        const char *kind;
        uint64_t number;
    } cases[] = {
        { diamond, 100, "redundant_edges", 1 },
        { diamond, 100, "tasks_below_handover", 0 },
        { diamond, 3500, "tasks_below_handover", 2 },
        { diamond, 100, "tasks_without_cost", 0 },
        { "2\n0 0 0\n1 0 0\n2 5 0\n3 0 2 1 2\n", 100, "tasks_without_cost", 1 },
        { "2\n0 0 0\n1 4 0\n2 5 1 1\n3 0 1 2\n", 100, "little_parallelism", 1 },
        { "2\n0 0 0\n1 4 0\n2 5 0\n3 0 2 1 2\n", 100, "little_parallelism", 0 },
        { diamond, 100, "names_repeat", 0 },
        { "{\"workflow\": {\"tasks\": [{\"id\": \"1\", \"name\": \"a\"}, {\"id\": \"2\", \"name\": "
          "\"a\"}, {\"id\": \"3\", \"name\": \"a\"}, {\"id\": \"4\", \"name\": \"b\"}]}}",
          100, "names_repeat", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig r;
        struct file_graph file;
        struct graph g;
        struct hints hints;
        open_rig(&r, cases[i].text);
        take(&r, 0, &file, &g);
        cr_assert(hints_find(&hints, &g, &file, cases[i].handover_ns) == 0);
        const struct hint *hint = hint_of(&hints, cases[i].kind);
        int is_count = strcmp(cases[i].kind, "little_parallelism") != 0;
        cr_expect((hint != NULL) == (cases[i].number > 0), "case %zu", i);
        cr_expect(!hint || !is_count || hint->number == cases[i].number, "case %zu: %s", i,
                  hint ? hint->text : "");
        drop(&file, &g);
        close_rig(&r);
    }
}

/* ---- what bodies check */

static void open_job(struct rig *r, struct job *job, struct job_state *state, uint32_t in_flight)
{
    struct file_options options = { .scale = 1 };
    open_rig(r, diamond);
    cr_assert(job_open(job, r->file, r->runtime, &options) == 0);
    cr_assert(job->tasks == 6);
    cr_assert(job_state_init(state, job, in_flight) == 0);
    job->now = state;
}

static void close_job(struct rig *r, struct job *job, struct job_state *state)
{
    job_close(job);
    job_state_free(state);
    close_rig(r);
}

Test(graphs, bodies_notice_what_runs_twice_never_or_early)
{
    for (uint32_t in_flight = 1; in_flight < 5; in_flight += 3) {
        struct rig r;
        struct job job;
        struct job_state state;
        char why[256] = "";
        open_job(&r, &job, &state, in_flight);
        for (uint64_t replay = 0; replay < 20; replay++)
            cr_assert(job_perform(&job, replay, why, sizeof why) == 0, "%s", why);
        state.replays = 20;
        cr_expect(job_check(&job, &state, why, sizeof why) == 0, "%s", why);
        state.replays = 21;
        cr_expect(job_check(&job, &state, why, sizeof why) < 0);
        cr_expect(!strcmp(why, "'task 0' did not run in replay 20"), "%s", why);

        cr_expect(job_perform(&job, 19, why, sizeof why) < 0);
        cr_expect(!strcmp(why, "'task 0' runs twice in replay 19"), "%s", why);
        cr_expect(job_perform(&job, 19 + 2 * state.marks, why, sizeof why) < 0);
        cr_expect(strstr(why, "and did not run in replay ") != NULL, "%s", why);

        uint32_t first = job.graph.order[1];
        job.graph.order[1] = job.graph.order[2];
        job.graph.order[2] = first;
        cr_expect(job_perform(&job, 20, why, sizeof why) < 0);
        cr_expect(!strcmp(why, "'task 2' begins replay 20 when its predecessor 'task 1' has not "
                               "run in replay 20"),
                  "%s", why);
        close_job(&r, &job, &state);
    }
}

/* An edge that Rondo was not told of: a replay must fail at it, sooner or later. */
Test(graphs, a_replay_against_the_order_fails)
{
    struct rig r;
    struct job job;
    struct job_state state;
    rondo_exec exec;
    rondo_result result = { 0 };
    open_job(&r, &job, &state, 1);
    cr_assert(rondo_instantiate(job.file.subgraph, NULL, &exec) == RONDO_OK);
    cr_assert(rondo_replay_and_wait(exec, NULL, -1, &result) == RONDO_OK, "%s", result.message);
    /* Task 1, which is first, now also comes after task 4. */
    job.graph.edge[job.graph.first[1]].from = 4;
    cr_assert(rondo_replay_and_wait(exec, NULL, -1, &result) == RONDO_ERR_FAILED);
    cr_expect(!strcmp(result.node, "task 1"), "%s", result.node);
    cr_expect(strstr(result.message, "'task 4' has not run in replay 1") != NULL, "%s",
              result.message);
    (void)rondo_exec_destroy(exec);
    close_job(&r, &job, &state);
}

/* ---- messages */

Test(graphs, hostile_text_is_made_printable)
{
    static const struct {
        const char *text, *shown;
    } texts[] = {
        { "", "" },
        { "plain", "plain" },
        { "\x1b[31mred\n\x7f", "?[31mred?\?" },
        { "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
        { "\xc2\x9b", "?\?" },
        { "\xff\xc3", "?\?" },
        { "0123456789abcdefg", "0123456789ab..." },
        { "0123456789abc", "0123456789abc" },
        { "0123456789a\xc3\xa9xxxx", "0123456789a..." },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char shown[16];
        file_printable(texts[i].text, shown, sizeof shown);
        cr_expect(!strcmp(shown, texts[i].shown), "case %zu: '%s'", i, shown);
    }
}
