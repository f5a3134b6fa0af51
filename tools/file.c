/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens graph files, tells their format by what they hold, and records what they say. A file may be
 * hostile: no more is read of it than FILE_MAX_BYTES, and every complaint names file and place. */
#include "tools/file.h"
#include "tools/cli.h"
#include "tools/json_scan.h"
#include "tools/recorded.h"
#include "tools/stg.h"
#include "tools/wfformat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES STG_MAX_BYTES /* of one of the formats that are JSON too */

enum format { FORMAT_STG, FORMAT_WF, FORMAT_RONDO };

struct file {
    char *path; /* for messages */
    enum format format;
    struct stg_graph stg;
    struct wf_graph wf;
    char *text; /* of a recording of Rondo's */
    size_t bytes;
};

static int complain(const char *path, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int complain(const char *path, int status, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s\n", path, line);
    return status;
}

/* ---- reading */

/* What has been read of the input: where its first character that is no blank stands. */
struct input {
    FILE *file;
    const char *path;
    size_t lines, columns; /* line ends, and blanks behind the last of them */
    int first;             /* the character, or EOF */
};

static int unreadable(const struct input *in)
{
    int status = errno == EISDIR ? EXIT_BAD_INPUT : EXIT_RUN_FAILED;
    return complain(in->path, status, ": %s", strerror(errno));
}

static int skip_blanks(struct input *in)
{
    for (size_t bytes = 0;; bytes++) {
        int c = getc(in->file);
        if (c == EOF && ferror(in->file))
            return unreadable(in);
        if (bytes > FILE_MAX_BYTES)
            return complain(in->path, EXIT_BAD_INPUT, ":%zu: the file is larger than %u bytes",
                            in->lines + 1, FILE_MAX_BYTES);
        if (c == EOF || !strchr(" \t\r\n", c) || !c) {
            in->first = c;
            ungetc(c, in->file);
            return 0;
        }
        in->lines += c == '\n';
        in->columns = c == '\n' ? 0 : in->columns + 1;
    }
}

static int read_stg(const struct input *in, struct file *file)
{
    struct stg_error e;
    enum stg_status status = stg_read(in->file, &file->stg, &e);
    if (status)
        return complain(in->path, status == STG_MALFORMED ? EXIT_BAD_INPUT : EXIT_RUN_FAILED,
                        ":%zu: %s", e.line + in->lines, e.reason);
    file->format = FORMAT_STG;
    return 0;
}

/* The whole input, with blanks in front as they were, so that lines and columns in messages are
 * those of the file. Doubles its room as it reads. */
static int read_text(const struct input *in, struct file *file)
{
    size_t room = in->lines + in->columns + 65536, used = in->lines + in->columns;
    char *text = malloc(room), *grown = text;
    if (text)
        memset(text + in->lines, ' ', in->columns);
    if (text)
        memset(text, '\n', in->lines);
    while (grown && !feof(in->file) && used <= FILE_MAX_BYTES) {
        used += fread(text + used, 1, room - used, in->file);
        if (ferror(in->file)) {
            free(text);
            return unreadable(in);
        }
        if (used == room && (grown = realloc(text, room * 2))) {
            text = grown;
            room *= 2;
        }
    }
    file->text = text;
    file->bytes = used;
    if (!grown)
        return complain(in->path, EXIT_RUN_FAILED, ": out of memory");
    if (used > FILE_MAX_BYTES)
        return complain(in->path, EXIT_BAD_INPUT, ": the file is larger than %u bytes",
                        FILE_MAX_BYTES);
    return 0;
}

static int read_wf(const struct input *in, struct file *file)
{
    struct wf_error e;
    enum wf_status status = wf_read(file->text, file->bytes, &file->wf, &e);
    free(file->text);
    file->text = NULL;
    file->format = FORMAT_WF;
    if (!status)
        return 0;
    int exit_status = status == WF_MALFORMED ? EXIT_BAD_INPUT : EXIT_RUN_FAILED;
    if (e.line)
        return complain(in->path, exit_status, ":%d:%d: %s", e.line, e.column, e.reason);
    return complain(in->path, exit_status, ": %s", e.reason);
}

static int read_json(const struct input *in, struct file *file)
{
    int status = read_text(in, file);
    if (status)
        return status;
    struct json_scan scan = json_scan(file->text, file->bytes);
    if (scan.has_workflow && !scan.has_rondo)
        return read_wf(in, file);
    file->format = FORMAT_RONDO;
    return 0;
}

static int read_any(struct input *in, struct file *file)
{
    int status = skip_blanks(in);
    if (status)
        return status;
    return in->first == '{' || in->first == '[' ? read_json(in, file) : read_stg(in, file);
}

int file_open(const char *path, struct file **file)
{
    int standard = !strcmp(path, "-");
    char shown[512];
    file_printable(standard ? "standard input" : path, shown, sizeof shown);
    struct file *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(shown))) {
        free(made);
        return complain(shown, EXIT_RUN_FAILED, ": out of memory");
    }
    struct input in = { .file = standard ? stdin : fopen(path, "rb"), .path = made->path };
    int status =
        in.file ? read_any(&in, made) : complain(shown, EXIT_BAD_INPUT, ": %s", strerror(errno));
    if (in.file && !standard)
        fclose(in.file);
    if (status)
        file_close(made);
    else
        *file = made;
    return status;
}

int file_is_stg(const struct file *file) { return file->format == FORMAT_STG; }

void file_close(struct file *file)
{
    if (!file)
        return;
    stg_free(&file->stg);
    wf_free(&file->wf);
    free(file->text);
    free(file->path);
    free(file);
}

/* ---- recording */

struct recorder {
    const struct file *file;
    const struct file_options *options;
    const struct file_bodies *bodies;
    rondo_runtime runtime;
    struct file_graph *graph;
    rondo_node *nodes; /* recorded so far */
    rondo_node *after; /* room for as many */
};

static double scale_of(const struct file_options *o)
{
    return (double)(o ? o->scale : 1000) * (o && o->times > 0 ? o->times : 1);
}

/* A task of a plain graph; `name` has room for one of a .stg file. */
static rondo_task_desc describe(const struct recorder *r, uint32_t t, char *name, size_t name_bytes,
                                const uint32_t **predecessors)
{
    const struct file *f = r->file;
    double scale = scale_of(r->options);
    if (f->format == FORMAT_WF) {
        const struct wf_task *task = &f->wf.tasks[t];
        *predecessors = f->wf.predecessors + task->first;
        return (rondo_task_desc){ .name = task->name,
                                  .tag = t,
                                  .cost_ns = task->seconds * 1e9 * (scale / 1000),
                                  .after_count = task->count };
    }
    const struct stg_task *task = &f->stg.tasks[t];
    uint32_t number = t + f->stg.first_number;
    snprintf(name, name_bytes, "task %" PRIu32, number);
    *predecessors = task->count ? f->stg.predecessors + task->first : NULL;
    return (rondo_task_desc){
        .name = name, .tag = number, .cost_ns = task->time * scale, .after_count = task->count
    };
}

static int do_nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

static rondo_status record_task(struct recorder *r, uint32_t t)
{
    char name[24];
    const uint32_t *predecessors;
    rondo_task_desc d = describe(r, t, name, sizeof name, &predecessors);
    for (uint32_t i = 0; i < d.after_count; i++)
        r->after[i] = r->nodes[predecessors[i]];
    d.after = r->after;
    d.fn = do_nothing;
    d.flags = RONDO_NO_ACCESS;
    rondo_status status = RONDO_OK;
    if (r->bodies && r->bodies->task)
        status = r->bodies->task(r->bodies->context, t, &d);
    if (status)
        return status;
    r->nodes[t] = rondo_record_task(r->graph->subgraph, &d);
    return r->nodes[t].id ? RONDO_OK : rondo_subgraph_status(r->graph->subgraph);
}

static rondo_status record_plain(struct recorder *r)
{
    const struct file *f = r->file;
    uint32_t count = f->format == FORMAT_WF ? f->wf.task_count : f->stg.task_count;
    rondo_status status = rondo_subgraph_create(
        r->runtime, &(rondo_subgraph_desc){ .name = f->path, .flags = RONDO_EDGES_EXPLICIT },
        &r->graph->subgraph);
    if (status)
        return status;
    r->nodes = calloc(count, 2 * sizeof *r->nodes);
    if (!r->nodes)
        return RONDO_ERR_MEMORY;
    r->after = r->nodes + count;
    r->graph->nodes = count;
    for (uint32_t t = 0; t < count && !status; t++)
        status = record_task(r, t);
    free(r->nodes);
    return status;
}

/* What becomes of a recording of which only the reading has ended well so far. */
static int finish(struct recorder *r, rondo_status status)
{
    static const char *const names[] = { "stg", "wfformat", "rondo" };
    snprintf(r->graph->format, sizeof r->graph->format, "%s", names[r->file->format]);
    if (!status)
        return 0;
    if (status == RONDO_ERR_MEMORY)
        complain(r->file->path, 0, ": out of memory");
    else {
        char shown[512];
        file_printable(rondo_error_message(), shown, sizeof shown);
        complain(r->file->path, 0, ": %s", shown);
    }
    if (r->graph->subgraph.id)
        (void)rondo_subgraph_destroy(r->graph->subgraph);
    r->graph->subgraph = (rondo_subgraph){ 0 };
    return status == RONDO_ERR_MEMORY ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
}

int file_record(const struct file *file, rondo_runtime runtime, const struct file_options *options,
                const struct file_bodies *bodies, struct file_graph *graph)
{
    struct file_graph made = { 0 };
    struct recorder r = { file, options, bodies, runtime, &made, NULL, NULL };
    rondo_status recorded =
        file->format == FORMAT_RONDO
            ? recorded_read(file->text, file->bytes, runtime, scale_of(options) / 1000,
                            options && options->fill, bodies, &made)
            : record_plain(&r);
    int status = finish(&r, recorded);
    if (!status)
        *graph = made;
    return status;
}

int file_load(const char *path, rondo_runtime runtime, const struct file_options *options,
              const struct file_bodies *bodies, struct file_graph *graph)
{
    struct file *file;
    int status = file_open(path, &file);
    if (status)
        return status;
    status = file_record(file, runtime, options, bodies, graph);
    file_close(file);
    return status;
}
