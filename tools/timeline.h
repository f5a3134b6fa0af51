/* SPDX-License-Identifier: BSD-3-Clause */
/* One replay of `rondo timeline`: what ran when on which lane, what it waited for, its picture. */
#ifndef RONDO_TOOLS_TIMELINE_H
#define RONDO_TOOLS_TIMELINE_H

#include "tools/graph.h"

struct timeline_span {
    double begin_us, end_us; /* in the trace's time */
    /* When the last of its predecessors ended, and which, by number in the recording; negative and
     * -1 where it has none. */
    double ready_us;
    int64_t waited_for;
    int added; /* by Rondo, as what combines shares: what it waits for is not known */
    uint32_t lane, node;
    uint64_t replay;
    char *name; /* owned */
};

struct timeline_lane {
    char name[64];
    uint64_t thread;       /* in the trace */
    int own_thread;        /* not one of the runtime's processors */
    uint32_t first, count; /* its spans, by rising time */
};

/* Lanes by rising number, spans by lane and time. */
struct timeline {
    struct timeline_lane *lane;
    struct timeline_span *span;
    uint32_t lanes, spans;
};

/* Reads the text of a trace, and finds what each span waited for. Returns 0, or -1 with `why`
 * filled. Ended by timeline_free either way. */
int timeline_read(struct timeline *timeline, const char *text, size_t bytes,
                  const struct graph *graph, char *why, size_t why_bytes);
void timeline_free(struct timeline *timeline);

/* The replay whose picture is drawn, and the shares of all lanes' time in it. */
struct timeline_view {
    uint64_t replay;
    double begin_us, end_us;
    /* Of the time of all lanes: running a node (of any replay), waiting for a predecessor, ready
     * and not begun; the rest is idle. From 0 to 1. */
    double busy, waiting, late;
    double running_us; /* of all spans on processors: those on threads of their own are left out */
};

/* From the first begin to the last end of a replay's spans; the replay in the middle of the trace.
 */
void timeline_look(const struct timeline *timeline, struct timeline_view *view);

/* A lane's time before a span of it, after the one before (or the view's begin): waiting from
 * gap[0] to gap[1], ready and not begun from there to gap[2]. Of a span that was added: nothing. */
void timeline_gap(const struct timeline *timeline, const struct timeline_view *view, uint32_t span,
                  double gap[3]);

/* `title` and `caption` stand above the lanes. */
void timeline_draw(const struct timeline *timeline, const struct timeline_view *view,
                   const struct graph *graph, const char *title, const char *caption, double width,
                   FILE *file);

#endif
