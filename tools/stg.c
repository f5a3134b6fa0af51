/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads Standard Task Graph files, which may be hostile: each byte is looked at once, a number is
 * refused at the digit that makes it too large, and no line is ever held as a whole. */
#include "tools/stg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_NUMBER, TOKEN_LINE_END, TOKEN_COMMENT, TOKEN_FILE_END, TOKEN_ERROR };

struct reader {
    FILE *file;
    struct stg_error *error;
    enum stg_status status; /* of the error that was reported */
    size_t line;            /* of the next character */
    size_t bytes;           /* read so far */
    uint64_t number;        /* the last TOKEN_NUMBER */

    struct stg_graph graph;
    uint32_t announced; /* tasks of the first line */
    uint32_t *named;    /* named[p] = number of the last task that names p */
    size_t tasks_room, predecessors_room, named_room;
};

static int fail(struct reader *r, enum stg_status status, size_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Always TOKEN_ERROR (which no other token equals), so that callers can return it. */
static int fail(struct reader *r, enum stg_status status, size_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->reason, sizeof r->error->reason, format, arguments);
    va_end(arguments);
    r->error->line = line;
    r->status = status;
    return TOKEN_ERROR;
}

/* ---- characters and numbers */

static int next_char(struct reader *r)
{
    int c = getc(r->file);
    if (c != EOF)
        r->bytes++;
    return c;
}

static void unread_char(struct reader *r, int c)
{
    if (c != EOF) {
        ungetc(c, r->file);
        r->bytes--;
    }
}

static int unexpected(struct reader *r, int c)
{
    if (c > 0x20 && c < 0x7f)
        return fail(r, STG_MALFORMED, r->line, "unexpected character '%c'", c);
    return fail(r, STG_MALFORMED, r->line, "unexpected byte 0x%02x: not a text file", (unsigned)c);
}

/* The digits from `c` on. A number with more than ten significant digits fits nowhere in the
 * format: reading stops there. */
static int read_number(struct reader *r, int c)
{
    uint64_t value = 0;
    while (c >= '0' && c <= '9') {
        value = value * 10 + (uint64_t)(c - '0');
        if (value > UINT32_MAX)
            return fail(r, STG_MALFORMED, r->line, "a number is larger than %" PRIu32, UINT32_MAX);
        if (r->bytes > STG_MAX_BYTES)
            return fail(r, STG_MALFORMED, r->line, "the file is larger than %u bytes",
                        STG_MAX_BYTES);
        c = next_char(r);
    }
    if (c != EOF && !strchr(" \t\r\n", c))
        return unexpected(r, c);
    unread_char(r, c);
    r->number = value;
    return TOKEN_NUMBER;
}

/* The next number of the line, or why there is none. A line's end is consumed. */
static int next_token(struct reader *r)
{
    for (;;) {
        int c = next_char(r);
        if (r->bytes > STG_MAX_BYTES)
            return fail(r, STG_MALFORMED, r->line, "the file is larger than %u bytes",
                        STG_MAX_BYTES);
        switch (c) {
        case ' ':
        case '\t':
        case '\r': continue;
        case '\n': r->line++; return TOKEN_LINE_END;
        case '#': return TOKEN_COMMENT;
        case EOF:
            if (ferror(r->file))
                return fail(r, STG_UNREADABLE, r->line, "%s", strerror(errno));
            return TOKEN_FILE_END;
        default: return c >= '0' && c <= '9' ? read_number(r, c) : unexpected(r, c);
        }
    }
}

/* The first token of the next line that is not blank. */
static int next_line(struct reader *r)
{
    int token;
    do
        token = next_token(r);
    while (token == TOKEN_LINE_END);
    return token;
}

/* A number that this line must have, from `least` to `most`. */
static int need_number(struct reader *r, const char *what, uint64_t least, uint64_t most)
{
    size_t line = r->line;
    int token = next_token(r);
    if (token == TOKEN_ERROR)
        return token;
    if (token != TOKEN_NUMBER)
        return fail(r, STG_MALFORMED, line, "%s is missing", what);
    if (r->number != least && least == most)
        return fail(r, STG_MALFORMED, line, "%s must be %" PRIu64 ", not %" PRIu64, what, least,
                    r->number);
    if (r->number < least || r->number > most)
        return fail(r, STG_MALFORMED, line, "%s must be %" PRIu64 " to %" PRIu64 ", not %" PRIu64,
                    what, least, most, r->number);
    return token;
}

/* ---- growing arrays */

/* Doubles `*array` when `count` elements fill its room. */
static int make_room(struct reader *r, void **array, size_t *room, size_t count, size_t elem_bytes)
{
    if (count < *room)
        return TOKEN_NUMBER;
    size_t more = *room ? *room * 2 : 64;
    void *grown = realloc(*array, more * elem_bytes);
    if (!grown)
        return fail(r, STG_NO_MEMORY, r->line, "out of memory");
    *array = grown;
    *room = more;
    return TOKEN_NUMBER;
}

static int add_task(struct reader *r, struct stg_task task)
{
    void *tasks = r->graph.tasks, *named = r->named;
    int token = make_room(r, &tasks, &r->tasks_room, r->graph.task_count, sizeof task);
    r->graph.tasks = tasks;
    if (token != TOKEN_ERROR)
        token = make_room(r, &named, &r->named_room, r->graph.task_count, sizeof *r->named);
    r->named = named;
    if (token == TOKEN_ERROR)
        return token;
    r->named[r->graph.task_count] = UINT32_MAX;
    r->graph.tasks[r->graph.task_count++] = task;
    return token;
}

static int add_predecessor(struct reader *r, uint32_t place)
{
    if (r->graph.predecessor_count >= STG_MAX_PREDECESSORS)
        return fail(r, STG_MALFORMED, r->line, "more than %u predecessors in all",
                    STG_MAX_PREDECESSORS);
    void *predecessors = r->graph.predecessors;
    int token = make_room(r, &predecessors, &r->predecessors_room, r->graph.predecessor_count,
                          sizeof place);
    r->graph.predecessors = predecessors;
    if (token != TOKEN_ERROR)
        r->graph.predecessors[r->graph.predecessor_count++] = place;
    return token;
}

/* ---- lines */

/* One predecessor of task `number`, which has just been read. */
static int take_predecessor(struct reader *r, uint32_t number)
{
    uint32_t last = r->announced + 1;
    uint64_t p = r->number;
    if (p == number)
        return fail(r, STG_MALFORMED, r->line, "task %" PRIu32 " names itself as a predecessor",
                    number);
    if (p > last || p < r->graph.first_number)
        return fail(r, STG_MALFORMED, r->line,
                    "task %" PRIu32 " names predecessor %" PRIu64 ": tasks are %" PRIu32
                    " to %" PRIu32,
                    number, p, r->graph.first_number, last);
    if (p > number)
        return fail(r, STG_MALFORMED, r->line,
                    "task %" PRIu32 " names predecessor %" PRIu64 ", which does not come before it",
                    number, p);
    uint32_t place = (uint32_t)p - r->graph.first_number;
    if (r->named[place] == number)
        return fail(r, STG_MALFORMED, r->line,
                    "task %" PRIu32 " names predecessor %" PRIu64 " twice", number, p);
    r->named[place] = number;
    return add_predecessor(r, place);
}

static int read_predecessors(struct reader *r, uint32_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t line = r->line;
        int token = next_token(r);
        if (token == TOKEN_NUMBER)
            token = take_predecessor(r, number);
        if (token == TOKEN_ERROR)
            return token;
        if (token != TOKEN_NUMBER)
            return fail(r, STG_MALFORMED, line,
                        "task %" PRIu32 " announces %" PRIu32 " predecessor%s and names %" PRIu32,
                        number, count, count == 1 ? "" : "s", i);
    }
    size_t line = r->line;
    int token = next_token(r);
    if (token == TOKEN_NUMBER)
        return fail(r, STG_MALFORMED, line,
                    "task %" PRIu32 " announces %" PRIu32 " predecessor%s and names more", number,
                    count, count == 1 ? "" : "s");
    if (token == TOKEN_COMMENT)
        return fail(r, STG_MALFORMED, line, "unexpected character '#'");
    return token;
}

/* The rest of a task's line, whose number has just been read. */
static int read_task(struct reader *r)
{
    uint32_t expected = r->graph.first_number + r->graph.task_count, last = r->announced + 1;
    if (!r->graph.task_count && r->number == 1)
        r->graph.first_number = expected = 1;
    if (r->number != expected)
        return fail(r, STG_MALFORMED, r->line,
                    "task %" PRIu64 " where task %" PRIu32 " is expected", r->number, expected);
    uint32_t number = expected, most = number == 0 || number == last ? 0 : STG_MAX_TIME;
    if (need_number(r, most ? "the processing time" : "the processing time of a dummy task", 0,
                    most) == TOKEN_ERROR)
        return TOKEN_ERROR;
    struct stg_task task = { .time = (uint32_t)r->number, .first = r->graph.predecessor_count };
    if (need_number(r, "the number of predecessors", 0, r->graph.task_count) == TOKEN_ERROR)
        return TOKEN_ERROR;
    task.count = (uint32_t)r->number;
    int token = read_predecessors(r, number, task.count);
    return token == TOKEN_ERROR || add_task(r, task) == TOKEN_ERROR ? TOKEN_ERROR : token;
}

static int read_count(struct reader *r)
{
    int token = next_line(r);
    if (token == TOKEN_FILE_END)
        return fail(r, STG_MALFORMED, r->line, "the file is empty");
    if (token == TOKEN_COMMENT)
        return fail(r, STG_MALFORMED, r->line, "unexpected character '#'");
    if (token == TOKEN_ERROR)
        return token;
    if (r->number < 1 || r->number > STG_MAX_TASKS)
        return fail(r, STG_MALFORMED, r->line, "the number of tasks must be 1 to %u, not %" PRIu64,
                    STG_MAX_TASKS, r->number);
    r->announced = (uint32_t)r->number;
    size_t line = r->line;
    token = next_token(r);
    if (token == TOKEN_NUMBER)
        token = next_token(r);
    if (token == TOKEN_NUMBER || token == TOKEN_COMMENT)
        return fail(r, STG_MALFORMED, line,
                    "the first line holds more than the number of tasks and one ignored number");
    return token;
}

static int missing(struct reader *r, uint32_t first, uint32_t last)
{
    if (first == last)
        return fail(r, STG_MALFORMED, r->line, "task %" PRIu32 " is missing", last);
    return fail(r, STG_MALFORMED, r->line, "tasks %" PRIu32 " to %" PRIu32 " are missing", first,
                last);
}

static int read_tasks(struct reader *r)
{
    uint32_t last = r->announced + 1, next = 0;
    do {
        int token = next_line(r);
        if (token == TOKEN_FILE_END || token == TOKEN_COMMENT)
            return missing(r, next, last);
        if (token == TOKEN_ERROR || read_task(r) == TOKEN_ERROR)
            return TOKEN_ERROR;
        next = r->graph.first_number + r->graph.task_count;
    } while (next <= last);

    int token = next_line(r);
    if (token == TOKEN_NUMBER)
        return fail(r, STG_MALFORMED, r->line, "a line after task %" PRIu32 ", the last one", last);
    return token;
}

enum stg_status stg_read(FILE *file, struct stg_graph *graph, struct stg_error *error)
{
    struct reader r = { .file = file, .error = error, .line = 1 };
    int failed = read_count(&r) == TOKEN_ERROR || read_tasks(&r) == TOKEN_ERROR;
    free(r.named);
    if (failed) {
        stg_free(&r.graph);
        return r.status;
    }
    *graph = r.graph;
    return STG_OK;
}

void stg_free(struct stg_graph *graph)
{
    free(graph->tasks);
    free(graph->predecessors);
    graph->tasks = NULL;
    graph->predecessors = NULL;
    graph->task_count = graph->predecessor_count = 0;
}

enum stg_status stg_measure(const struct stg_graph *graph, struct stg_extent *extent)
{
    uint64_t *end = calloc(graph->task_count, sizeof *end);
    if (!end)
        return STG_NO_MEMORY;
    struct stg_extent found = { 0, 0 };
    for (uint32_t t = 0; t < graph->task_count; t++) {
        const struct stg_task *task = &graph->tasks[t];
        for (uint32_t i = task->first; i < task->first + task->count; i++)
            if (end[graph->predecessors[i]] > end[t])
                end[t] = end[graph->predecessors[i]];
        end[t] += task->time;
        found.serial += task->time;
        if (end[t] > found.critical)
            found.critical = end[t];
    }
    free(end);
    *extent = found;
    return STG_OK;
}
