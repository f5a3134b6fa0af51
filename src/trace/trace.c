/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace's life: started by a call or by RONDO_TRACE, stopped by a call or by the runtime's end.
 */
#include "src/trace/trace.h"

#include "src/base/env.h"
#include "src/base/error.h"
#include "src/base/os.h"
#include "src/trace/spans.h"

#include <errno.h>
#include <string.h>

enum { MOST_SPANS = 65536 };

/* Runtimes of this process that write RONDO_TRACE's file: the first to the file itself, later ones
 * beside it. */
static rd_atomic32 files;

static void open_file(struct rd_trace *trace, const char *name)
{
    uint32_t number = rd_add_relaxed(&files, 1) + 1;
    size_t bytes = strlen(name) + 16;
    char *path = rd_alloc(&trace->rt->alloc, bytes, 1);
    if (!path)
        return;
    if (number == 1)
        snprintf(path, bytes, "%s", name);
    else
        snprintf(path, bytes, "%s.%u", name, number);
    trace->file = fopen(path, "w");
    if (!trace->file)
        rd_log(&trace->rt->log, RONDO_LOG_WARNING,
               "RONDO_TRACE: '%s' cannot be written, nothing is traced: %s", path, strerror(errno));
    else
        rd_trace_start(trace, 0);
    rd_free(&trace->rt->alloc, path, bytes);
}

rondo_status rd_trace_open(struct rd_runtime *rt, struct rd_trace **trace)
{
    const char *name = rd_env_text(RD_ENV_RONDO_TRACE);
    struct rd_trace *made = rd_zalloc(&rt->alloc, sizeof *made, 16);
    if (!made)
        return rd_error(RONDO_ERR_MEMORY, "runtime: no memory for its trace");
    made->rt = rt;
    pthread_mutex_init(&made->lock, NULL);
    if (name)
        open_file(made, name);
    *trace = made;
    return RONDO_OK;
}

static void write_file(void *context, const char *text) { fputs(text, context); }

void rd_trace_close(struct rd_trace *trace)
{
    struct rd_runtime *rt;
    if (!trace)
        return;
    rt = trace->rt;
    if (rd_tracing(trace))
        rd_trace_stop(trace, trace->file ? write_file : NULL, trace->file);
    if (trace->file && fclose(trace->file))
        rd_log(&rt->log, RONDO_LOG_WARNING, "RONDO_TRACE: the trace could not be written: %s",
               strerror(errno));
    pthread_mutex_destroy(&trace->lock);
    rd_free(&rt->alloc, trace, sizeof *trace);
}

rondo_status rd_trace_start(struct rd_trace *trace, uint64_t most)
{
    rondo_status status = RONDO_OK;
    pthread_mutex_lock(&trace->lock);
    if (rd_tracing(trace)) {
        status = rd_error(RONDO_ERR_INVALID, "runtime: a trace runs already");
    } else {
        trace->most = most ? most : MOST_SPANS;
        trace->count = 0;
        trace->begin_ns = rd_os.now_ns();
        rd_store_relaxed(&trace->rt->tracing, 1); /* lanes that see it take the lock */
    }
    pthread_mutex_unlock(&trace->lock);
    return status;
}

rondo_status rd_trace_stop(struct rd_trace *trace, void (*write)(void *context, const char *text),
                           void *context)
{
    struct rd_trace_page page = { trace->rt->id, trace->rt->processors, 0, NULL };
    struct rd_trace_names *names;
    struct rd_spans *spans, *next;
    pthread_mutex_lock(&trace->lock);
    if (!rd_tracing(trace)) {
        pthread_mutex_unlock(&trace->lock);
        return rd_error(RONDO_ERR_INVALID, "runtime: no trace runs");
    }
    rd_store_relaxed(&trace->rt->tracing, 0); /* a lane that misses it finds its spans closed */
    spans = trace->spans;
    names = trace->names;
    trace->spans = NULL;
    trace->names = NULL;
    page.begin_ns = trace->begin_ns;
    for (struct rd_spans *s = spans; s; s = s->next)
        rd_spans_close(s);
    pthread_mutex_unlock(&trace->lock);
    page.spans = spans;
    if (write)
        rd_trace_write(&page, write, context);
    for (; spans; spans = next) {
        next = spans->next;
        rd_spans_drop(spans);
    }
    rd_trace_free_names(trace, names);
    return RONDO_OK;
}
