/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of task graphs: what it reads, and the exact words for what it refuses. */
#include "tools/stg.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static enum stg_status read_bytes(const char *bytes, size_t count, struct stg_graph *graph,
                                  struct stg_error *error)
{
    FILE *file = tmpfile();
    cr_assert(file != NULL);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    rewind(file);
    enum stg_status status = stg_read(file, graph, error);
    fclose(file);
    return status;
}

static enum stg_status read_text(const char *text, struct stg_graph *graph, struct stg_error *error)
{
    return read_bytes(text, strlen(text), graph, error);
}

/* ---- what is refused */

static const struct {
    const char *text;
    size_t line;
    const char *reason;
} malformed[] = {
    { "", 1, "the file is empty" },
    { "\n \t\r\n\n", 4, "the file is empty" },
    { "# a comment\n", 1, "unexpected character '#'" },
    { "0\n", 1, "the number of tasks must be 1 to 1000000, not 0" },
    { "1000001\n", 1, "the number of tasks must be 1 to 1000000, not 1000001" },
    { "4294967296\n", 1, "a number is larger than 4294967295" },
    { "99999999999999999999999999999999\n", 1, "a number is larger than 4294967295" },
    { "-1\n", 1, "unexpected character '-'" },
    { "two\n", 1, "unexpected character 't'" },
    { "1.5\n", 1, "unexpected character '.'" },
    { "1 2 3\n", 1, "the first line holds more than the number of tasks and one ignored number" },
    { "1 # one\n", 1, "the first line holds more than the number of tasks and one ignored number" },
    { "1", 1, "tasks 0 to 2 are missing" },
    { "1\n", 2, "tasks 0 to 2 are missing" },
    { "1000000\n", 2, "tasks 0 to 1000001 are missing" },
    { "1\n0 0 0\n", 3, "tasks 1 to 2 are missing" },
    { "1\n0 0 0\n1 5 1 0\n", 4, "task 2 is missing" },
    { "1\n0 0 0\n# cut off\n1 5 1 0\n2 0 1 1\n", 3, "tasks 1 to 2 are missing" },
    { "1\n0 0 0\n0 0 0\n", 3, "task 0 where task 1 is expected" },
    { "2\n1 4 0\n1 4 0\n", 3, "task 1 where task 2 is expected" },
    { "2\n1 4 0\n3 0 1 1\n", 3, "task 3 where task 2 is expected" },
    { "2\n2 4 0\n", 2, "task 2 where task 0 is expected" },
    { "1\n0\n", 2, "the processing time of a dummy task is missing" },
    { "1\n1\n", 2, "the processing time is missing" },
    { "1\n1 5\n2 0 0\n", 2, "the number of predecessors is missing" },
    { "1\n1 5", 2, "the number of predecessors is missing" },
    { "1\n1 1000000001 0\n", 2, "the processing time must be 0 to 1000000000, not 1000000001" },
    { "1\n0 3 0\n", 2, "the processing time of a dummy task must be 0, not 3" },
    { "1\n0 0 0\n1 5 0\n2 1 1 1\n", 4, "the processing time of a dummy task must be 0, not 1" },
    { "1\n1 -5 0\n", 2, "unexpected character '-'" },
    { "1\n1 5 1 0\n", 2, "the number of predecessors must be 0, not 1" },
    { "1\n0 0 0\n1 5 2 0 0\n", 3, "the number of predecessors must be 0 to 1, not 2" },
    { "1\n0 0 0\n1 5 4294967295 0\n", 3,
      "the number of predecessors must be 0 to 1, not 4294967295" },
    { "1\n0 0 0\n1 5 1\n2 0 1 1\n", 3, "task 1 announces 1 predecessor and names 0" },
    { "1\n0 0 0\n1 5 1", 3, "task 1 announces 1 predecessor and names 0" },
    { "2\n0 0 0\n1 5 1 0\n2 5 2 1 # 0\n", 4, "task 2 announces 2 predecessors and names 1" },
    { "1\n0 0 0\n1 5 0 0\n2 0 1 1\n", 3, "task 1 announces 0 predecessors and names more" },
    { "1\n0 0 0\n1 5 0 # entry\n", 3, "unexpected character '#'" },
    { "1\n0 0 0\n1 5 1 1\n", 3, "task 1 names itself as a predecessor" },
    { "1\n0 0 0\n1 5 1 2\n2 0 1 1\n", 3,
      "task 1 names predecessor 2, which does not come before it" },
    { "1\n0 0 0\n1 5 1 3\n2 0 1 1\n", 3, "task 1 names predecessor 3: tasks are 0 to 2" },
    { "2\n1 5 0\n2 5 1 0\n", 3, "task 2 names predecessor 0: tasks are 1 to 3" },
    { "2\n0 0 0\n1 5 1 0\n2 5 2 1 1\n", 4, "task 2 names predecessor 1 twice" },
    { "1\n0 0 0\n1 5 1 0\n2 0 1 1\n3 0 0\n", 5, "a line after task 2, the last one" },
    { "1\n0 0 0\n1 5 1 0\n2 0 1 1\nend\n", 5, "unexpected character 'e'" },
    { "1\n0 0 0\n1 5 1 0x0\n", 3, "unexpected character 'x'" },
    { "1\n0 0 0\n1 5 1 0\v\n", 3, "unexpected byte 0x0b: not a text file" },
    { "\x7f"
      "ELF\x02\x01\x01",
      1, "unexpected byte 0x7f: not a text file" },
    { "1\n0 0 0\n1 5\xff 1 0\n", 3, "unexpected byte 0xff: not a text file" },
};

Test(stg, refuses_malformed_files_with_line_and_reason)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        struct stg_graph graph = { .task_count = 77 };
        struct stg_error error = { 0, "" };
        enum stg_status status = read_text(malformed[i].text, &graph, &error);
        cr_expect(status == STG_MALFORMED, "case %zu: status %d", i, (int)status);
        cr_expect(error.line == malformed[i].line, "case %zu: line %zu, not %zu", i, error.line,
                  malformed[i].line);
        cr_expect(!strcmp(error.reason, malformed[i].reason), "case %zu: '%s', not '%s'", i,
                  error.reason, malformed[i].reason);
        cr_expect(graph.task_count == 77 && !graph.tasks, "case %zu: the output is written", i);
    }
}

/* A file cut off anywhere is refused, or (inside trailing blanks) is whole. */
Test(stg, refuses_every_truncation)
{
    static const char whole[] =
        "3\n0 0 0\n1 10 1 0\n2 20 1 0\n3 30 2 1 2\n4 0 1 3\n# made by hand\n";
    size_t least = (size_t)(strstr(whole, "\n#") - whole);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        struct stg_graph graph = { 0 };
        struct stg_error error = { 0, "" };
        enum stg_status status = read_bytes(whole, length, &graph, &error);
        cr_expect(status == (length < least ? STG_MALFORMED : STG_OK), "cut at %zu: status %d (%s)",
                  length, (int)status, error.reason);
        if (!status)
            stg_free(&graph);
        else
            cr_expect(error.line >= 1 && error.reason[0], "cut at %zu: no reason", length);
    }
}

/* Whatever byte is put anywhere, the reader ends with a graph or a reason. */
Test(stg, survives_any_byte_anywhere)
{
    static const char whole[] = "2\n0 0 0\n1 10 1 0\n2 20 2 0 1\n3 0 1 2\n";
    char bytes[sizeof whole];
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (int byte = 0; byte < 256; byte++) {
            struct stg_graph graph = { 0 };
            struct stg_error error = { 0, "" };
            memcpy(bytes, whole, sizeof whole);
            bytes[at] = (char)byte;
            FILE *file = fmemopen(bytes, sizeof whole - 1, "rb");
            cr_assert(file != NULL);
            enum stg_status status = stg_read(file, &graph, &error);
            fclose(file);
            cr_expect(status == STG_OK || (status == STG_MALFORMED && error.reason[0]),
                      "byte %d at %zu: status %d", byte, at, (int)status);
            if (!status)
                stg_free(&graph);
        }
}

/* A line of many megabytes costs no memory and ends at the first thing wrong in it. */
Test(stg, long_lines_are_read_piecewise)
{
    static const struct {
        const char *begin;
        char fill;
        const char *reason;
    } lines[] = {
        { "", '7', "a number is larger than 4294967295" },
        { "1", ' ', "tasks 0 to 2 are missing" },
        { "1\n0", ' ', "the processing time of a dummy task is missing" },
        { "1\n0 0 0\n1 5 ", '0', "task 1 announces 0 predecessors and names more" },
        { "1\n", '\0', "unexpected byte 0x00: not a text file" },
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        FILE *file = tmpfile();
        char block[4096];
        memset(block, lines[i].fill, sizeof block);
        cr_assert(file != NULL);
        fputs(lines[i].begin, file);
        for (int n = 0; n < 2048; n++)
            cr_assert_eq(fwrite(block, 1, sizeof block, file), sizeof block);
        fputs(lines[i].fill == '0' ? " 0\n" : "\n", file);
        rewind(file);
        struct stg_graph graph = { 0 };
        struct stg_error error = { 0, "" };
        enum stg_status status = stg_read(file, &graph, &error);
        cr_expect(status == STG_MALFORMED, "case %zu: status %d", i, (int)status);
        cr_expect(!strcmp(error.reason, lines[i].reason), "case %zu: '%s'", i, error.reason);
        fclose(file);
    }
}

Test(stg, says_when_a_file_cannot_be_read)
{
    FILE *folder = fopen("/", "rb");
    cr_assert(folder != NULL);
    struct stg_graph graph = { 0 };
    struct stg_error error = { 0, "" };
    cr_expect_eq(stg_read(folder, &graph, &error), STG_UNREADABLE);
    cr_expect_str_eq(error.reason, "Is a directory");
    fclose(folder);
}

/* ---- what is read */

static const struct {
    const char *text;
    uint32_t first_number, tasks, predecessors;
    uint64_t critical, serial;
} good[] = {
    { "1\n0 0 0\n1 5 1 0\n2 0 1 1\n", 0, 3, 2, 5, 5 },
    { "1\n1 5 0\n2 0 1 1\n", 1, 2, 1, 5, 5 },                             /* no task 0 */
    { "2 1\n0 0 0\n1 5 1 0\n2 7 1 0\n3 0 2 1 2\n# end", 0, 4, 4, 7, 12 }, /* a second number */
    { "3\r\n\r\n0 0 0\r\n1 10 1 0\r\n2\t20 1 0\r\n3 30 2 2 1\r\n\r\n4 0 1 3\r\n", 0, 5, 5, 50, 60 },
    { "1\n0 0 0\n1 1000000000 1 0\n2 0 1 1", 0, 3, 2, 1000000000, 1000000000 },
    { "001\n000 0 0\n01 05 01 00\n02 00 01 01\n#\n\xff garbage\n", 0, 3, 2, 5, 5 },
};

Test(stg, reads_good_files)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct stg_graph graph = { 0 };
        struct stg_error error = { 0, "" };
        struct stg_extent extent = { 0, 0 };
        enum stg_status status = read_text(good[i].text, &graph, &error);
        cr_assert(status == STG_OK, "case %zu: %zu: %s", i, error.line, error.reason);
        cr_expect(graph.first_number == good[i].first_number, "case %zu", i);
        cr_expect(graph.task_count == good[i].tasks, "case %zu: %u tasks", i, graph.task_count);
        cr_expect(graph.predecessor_count == good[i].predecessors, "case %zu", i);
        cr_assert_eq(stg_measure(&graph, &extent), STG_OK);
        cr_expect(extent.critical == good[i].critical && extent.serial == good[i].serial,
                  "case %zu: critical %llu, serial %llu", i, (unsigned long long)extent.critical,
                  (unsigned long long)extent.serial);
        stg_free(&graph);
    }
}

Test(stg, keeps_times_and_predecessors_by_place)
{
    struct stg_graph graph = { 0 };
    struct stg_error error = { 0, "" };
    cr_assert_eq(read_text("3\n1 10 0\n2 20 1 1\n3 30 2 2 1\n4 0 1 3\n", &graph, &error), STG_OK);
    static const uint32_t times[] = { 10, 20, 30, 0 }, counts[] = { 0, 1, 2, 1 },
                          places[] = { 0, 1, 0, 2 };
    uint32_t first = 0;
    for (uint32_t t = 0; t < 4; t++) {
        cr_expect_eq(graph.tasks[t].time, times[t]);
        cr_expect_eq(graph.tasks[t].count, counts[t]);
        cr_expect_eq(graph.tasks[t].first, first);
        first += counts[t];
    }
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(graph.predecessors[i], places[i]);
    stg_free(&graph);
}

/* Arrays grow past their first room many times over. */
Test(stg, reads_a_large_file)
{
    enum { TASKS = 20000 };
    FILE *file = tmpfile();
    cr_assert(file != NULL);
    fprintf(file, "%d\n0 0 0\n", TASKS);
    for (int t = 1; t <= TASKS; t++)
        if (t < 3)
            fprintf(file, "%d 1 1 %d\n", t, t - 1);
        else
            fprintf(file, "%d 1 3 %d %d %d\n", t, t - 1, t - 2, t - 3);
    fprintf(file, "%d 0 1 %d\n", TASKS + 1, TASKS);
    rewind(file);
    struct stg_graph graph = { 0 };
    struct stg_error error = { 0, "" };
    struct stg_extent extent = { 0, 0 };
    cr_assert_eq(stg_read(file, &graph, &error), STG_OK);
    cr_expect_eq(graph.task_count, TASKS + 2);
    cr_expect_eq(graph.predecessor_count, 2 + 3 * (TASKS - 2) + 1);
    cr_assert_eq(stg_measure(&graph, &extent), STG_OK);
    cr_expect_eq(extent.critical, TASKS);
    cr_expect_eq(graph.predecessors[graph.tasks[TASKS].first + 2], TASKS - 3);
    stg_free(&graph);
    fclose(file);
}
