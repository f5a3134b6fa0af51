/* SPDX-License-Identifier: BSD-3-Clause */
/* A runtime's trace: started, stopped, written. */
#ifndef RD_TRACE_TRACE_H
#define RD_TRACE_TRACE_H

#include "src/machine/runtime.h"

#include <pthread.h>
#include <stdio.h>

struct rd_spans;
struct rd_trace_names;

/* rt->tracing is set and cleared under the lock. */
struct rd_trace {
    struct rd_runtime *rt;
    pthread_mutex_t lock; /* of all below; never taken by an op but the first of its lane */
    uint64_t most;        /* spans per lane */
    int64_t begin_ns;
    struct rd_spans *spans;
    struct rd_trace_names *names;
    uint32_t count;
    FILE *file; /* of RONDO_TRACE, until it is written */
};

static inline int rd_tracing(struct rd_trace *trace)
{
    /* A hint: spans of a stopped trace are refused. */
    return (int)rd_load_relaxed(&trace->rt->tracing);
}

/* The runtime's trace, not running; started at once if RONDO_TRACE names a file (which is logged if
 * it cannot be written). MEMORY. */
rondo_status rd_trace_open(struct rd_runtime *rt, struct rd_trace **trace);
/* Writes RONDO_TRACE's file, if it still runs, and frees the trace. Nothing runs any more. NULL:
 * nothing. */
void rd_trace_close(struct rd_trace *trace);

/* rondo/trace.h. */
rondo_status rd_trace_start(struct rd_trace *trace, uint64_t most);
rondo_status rd_trace_stop(struct rd_trace *trace, void (*write)(void *context, const char *text),
                           void *context);

/* json.c: what was collected, in the Trace Event Format. */
struct rd_trace_page {
    uint64_t runtime;
    uint32_t processors;
    int64_t begin_ns;
    const struct rd_spans *spans; /* closed, newest first */
};
void rd_trace_write(const struct rd_trace_page *page,
                    void (*write)(void *context, const char *text), void *context);

#endif
