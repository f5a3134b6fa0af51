/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane's spans in a trace: which node ran when. */
#ifndef RD_TRACE_SPANS_H
#define RD_TRACE_SPANS_H

#include "src/trace/trace.h"

struct rd_span {
    int64_t begin_ns, end_ns;
    uint64_t replay;
    uint32_t node;
};

enum { RD_SPANS_CHUNK = 1023 };

struct rd_spans_chunk {
    struct rd_spans_chunk *next;
    uint32_t count;
    struct rd_span span[RD_SPANS_CHUNK];
};

/* Names of one exec's nodes, copied when its first lane is traced, since the exec may be gone when
 * the trace is written. Of the trace. */
struct rd_trace_names {
    struct rd_trace_names *next;
    const void *key; /* NULL once its lanes let go of their spans: an address comes again */
    char *exec, *names;
    uint32_t *name;
    uint64_t *tag; /* NULL: all 0 */
    size_t names_bytes;
    uint32_t nodes;
};

enum { RD_SPANS_OPEN, RD_SPANS_BUSY, RD_SPANS_CLOSED };

struct rd_spans {
    rd_atomic32 state;
    rd_atomic32 refs; /* the lane's and the trace's */
    struct rd_trace *trace;
    struct rd_spans *next;        /* of the trace, under its lock */
    struct rd_trace_names *names; /* valid while open; NULL: there was no memory */
    uint32_t number;              /* in the trace */
    uint32_t lane, track, tracks, processor;
    uint32_t device; /* 1 + a device: the lane submits to it and waits for it; 0: none */
    int on_device;   /* no lane's: what ran on the device itself */
    uint64_t count, most, dropped; /* from here on: who is BUSY; the trace once CLOSED */
    struct rd_spans_chunk *first, *last;
};

/* What a lane, or a device, says of itself. `key` stands for the tables behind names, name and tag.
 */
struct rd_spans_owner {
    const void *key;
    const char *exec, *names;
    size_t names_bytes;
    const uint32_t *name; /* by node, offset in names */
    const uint64_t *tag;  /* by node; NULL: all 0 */
    uint32_t nodes, lane, track, tracks, processor;
    uint32_t device; /* these two as above */
    int on_device;
};

/* An empty buffer in the running trace; NULL when none runs or there is no memory. Let go by
 * rd_spans_release. */
struct rd_spans *rd_spans_new(struct rd_trace *trace, const struct rd_spans_owner *owner);
/* Adds a span, by the lane's driver alone. 0: the trace has stopped. */
int rd_spans_note(struct rd_spans *s, const struct rd_span *span);
/* The lane needs it no more; its exec's tables may go. NULL: nothing. */
void rd_spans_release(struct rd_spans *s);
/* The trace's side: closes it, so that the spans are the caller's alone. */
void rd_spans_close(struct rd_spans *s);
void rd_trace_free_names(struct rd_trace *trace, struct rd_trace_names *names); /* a list */
/* Frees the spans of one that was closed, and the trace's hold on it. */
void rd_spans_drop(struct rd_spans *s);

#endif
