/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces by hand, with known waits: what is read of them, and how lanes' time is told apart. */
#include "tools/timeline.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* a -> b and a -> c within a replay, c -> a carried to the next. */
static struct graph_node nodes[] = { { .name = (char[]){ "a" } },
                                     { .name = (char[]){ "b" } },
                                     { .name = (char[]){ "c" } } };
static struct graph_edge edges[] = { { 2, 0, 1, 1 }, { 0, 1, 0, 1 }, { 0, 2, 0, 1 } };
static size_t first[] = { 0, 1, 2, 3 };
static const struct graph graph = {
    .nodes = 3, .edges = 3, .carried = 1, .node = nodes, .edge = edges, .first = first
};

#define HEAD "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
#define LANE(thread, name)                                              \
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":" #thread \
    ",\"args\":{\"name\":\"exec 'x' lane 9 (' " name "\"}},\n"
#define SPAN(thread, name, from, took, replay, node)                                       \
    "{\"name\":\"" name "\",\"cat\":\"node\",\"ph\":\"X\",\"pid\":1,\"tid\":" #thread      \
    ",\"ts\":" #from ",\"dur\":" #took ",\"args\":{\"replay\":" #replay ",\"node\":" #node \
    ",\"tag\":0}},\n"
#define TAIL "{\"name\":\"end\",\"ph\":\"i\"}],\"otherData\":{}}"

/* Lane 0: a 10-20, c 35-40. Lane 1: b 25-65. Ready is 20 for both. */
static const char one_replay[] =
    HEAD LANE(7, "lane 1 (cpu 1)") SPAN(7, "b", 25.0, 40.0, 4, 1) LANE(3, "lane 0 (cpu 0)")
        SPAN(3, "a", 10, 10.0, 4, 0) SPAN(3, "c", 35, 5.0, 4, 2) LANE(5, "lane 2 (cpu 0)") TAIL;

Test(timeline, a_replay_of_two_lanes)
{
    struct timeline t;
    struct timeline_view view;
    char why[256] = "";
    double gap[3];
    cr_assert_eq(timeline_read(&t, one_replay, strlen(one_replay), &graph, why, sizeof why), 0,
                 "%s", why);
    cr_assert(t.lanes == 2 && t.spans == 3, "%u lanes, %u spans", t.lanes, t.spans);
    cr_expect_str_eq(t.lane[0].name, "lane 0 (cpu 0)"); /* not by the thread's number */
    cr_expect_str_eq(t.lane[1].name, "lane 1 (cpu 1)");
    cr_expect(!strcmp(t.span[0].name, "a") && t.span[0].waited_for == -1);
    cr_expect(!strcmp(t.span[1].name, "c") && t.span[1].waited_for == 0);
    cr_expect(!strcmp(t.span[2].name, "b") && t.span[2].ready_us == 20);
    timeline_look(&t, &view);
    cr_expect(view.replay == 4 && view.begin_us == 10 && view.end_us == 65);
    timeline_gap(&t, &view, 1, gap); /* ready when the one before ended: all of it is late */
    cr_expect(gap[0] == 20 && gap[1] == 20 && gap[2] == 35);
    timeline_gap(&t, &view, 2, gap); /* waits from the view's begin to the end of a */
    cr_expect(gap[0] == 10 && gap[1] == 20 && gap[2] == 25);
    cr_expect_float_eq(view.busy, 55.0 / 110, 1e-12);
    cr_expect_float_eq(view.waiting, 10.0 / 110, 1e-12);
    cr_expect_float_eq(view.late, 20.0 / 110, 1e-12);
    cr_expect_float_eq(view.running_us, 55, 1e-12);
    timeline_free(&t);
}

/* Three replays; the middle one is looked at, its neighbours count as running. */
static const char replays[] = HEAD LANE(1, "lane 0 (a thread of its own)") SPAN(1, "a", 0, 10, 8, 0)
    SPAN(1, "c", 10, 10, 8, 2) SPAN(1, "a", 25, 10, 9, 0) SPAN(1, "c", 35, 10, 9, 2)
        SPAN(1, "a", 45, 10, 10, 0) SPAN(1, "add", 60, 5, 10, 3) LANE(2, "lane 1 (cpu 1)")
            SPAN(2, "b", 30, 10, 8, 1) SPAN(2, "b", 41, 10, 9, 1) TAIL;

Test(timeline, replays_that_overlap)
{
    struct timeline t;
    struct timeline_view view;
    char why[256] = "";
    double gap[3];
    cr_assert_eq(timeline_read(&t, replays, strlen(replays), &graph, why, sizeof why), 0, "%s",
                 why);
    timeline_look(&t, &view);
    cr_expect(view.replay == 9 && view.begin_us == 25 && view.end_us == 51);
    cr_expect(t.span[2].waited_for == 2 && t.span[2].ready_us == 20, "c of the replay before");
    cr_expect(t.span[5].added && t.span[5].waited_for == -1);
    timeline_gap(&t, &view, 5, gap); /* behind the view, and added */
    cr_expect(gap[0] == gap[2]);
    timeline_gap(&t, &view, 7, gap);
    cr_expect(gap[0] == 40 && gap[1] == 40 && gap[2] == 41);
    cr_expect_float_eq(view.busy * 52, 26 + 20, 1e-9);
    cr_expect_float_eq(view.running_us, 20, 1e-12); /* lane 0 is on no processor */
    timeline_free(&t);
}

Test(timeline, what_is_no_trace_is_refused)
{
    static const char *const bad[] = {
        "",
        "{}",
        HEAD TAIL,
        HEAD SPAN(1, "a", 0, 1, 0, 0) TAIL,                               /* of no lane */
        HEAD LANE(1, "l") "{\"name\":\"a\",\"ph\":\"X\",\"tid\":1}" TAIL, /* no times */
        HEAD LANE(1, "l") "{\"name\":3}" TAIL,
        HEAD LANE(1, "l") SPAN(1, "a", 0, 1, 0, 0) "{\"name\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct timeline t;
        char why[256] = "";
        cr_expect_eq(timeline_read(&t, bad[i], strlen(bad[i]), &graph, why, sizeof why), -1,
                     "case %zu", i);
        cr_expect(*why, "case %zu", i);
        timeline_free(&t);
    }
}
