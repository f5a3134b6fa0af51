/* SPDX-License-Identifier: BSD-3-Clause */
/* A core: a plan made ready to run. Tracks, lanes, counters and frames; what an exec has one or
 * several of, for one lane or more, dataflow, or a changed version. */
#ifndef RD_EXEC_CORE_H
#define RD_EXEC_CORE_H

#include "src/cleaner/cleaner.h"
#include "src/exec/series.h"

enum rd_core_kind { RD_CORE_LANES, RD_CORE_ONE_LANE, RD_CORE_FLOW };

struct rd_core {
    struct rd_tenant tenant; /* first; of a core that retires before its exec */
    struct rd_exec *x;
    struct rd_series *series;
    struct rd_plan *plan; /* its own */
    enum rd_core_kind kind;
    uint32_t number; /* in the series */
    uint64_t serial; /* no other core of the process has or had it */
    int in_series, attached;
    rd_atomic32 retired; /* its exec has another one for what it did */
    rd_atomic32 rests;   /* its lanes are on no agenda; changed under both locks */
    uint32_t tracks, window;
    struct rd_track *track;
    /* The gate of the first frames after a change to this core; count 0: none so far. */
    struct rd_gate resume;
    uint64_t last; /* the series' ticket after the last one on this core, once another one ran;
                      under the series' lock */
    struct rd_core *next; /* of the same exec */
};

/* How many frames a track has for a window. */
uint32_t rd_core_frames(uint32_t window);
/* Makes a core of a plan, which becomes the core's also when this fails, and puts it into the
 * exec's list. Its ops have no functions yet. MEMORY; AGAIN: the series has no number for it. */
rondo_status rd_core_new(struct rd_exec *x, struct rd_plan *plan, enum rd_core_kind kind,
                         struct rd_core **core);
/* The tasks' contexts are the program's; under the exec's lock. */
void rd_core_set_contexts(struct rd_core *c);
/* Functions and arguments as those of another core of the same exec; under its lock. */
void rd_core_copy_work(struct rd_core *c, const struct rd_core *like);
void rd_core_copy_variants(struct rd_core *c);
/* Makes it a tenant that the cleaner can end: a step of rd_core_new. */
void rd_core_let(struct rd_core *c);
/* Nothing runs it any more. Takes it out of its exec's list and its series. */
void rd_core_free(struct rd_core *c);
/* Puts its lanes on their workers' agendas. */
void rd_core_attach(struct rd_core *c);
/* Whether the core's last replay has ended, the workers let go of its lanes, and every seat is
 * closed; tells them to. Else *unmet as in rd_tenant.closed. `end`: ticket after its last one. */
int rd_core_closed(struct rd_core *c, uint64_t end, struct rd_unmet *unmet);
/* Lets go of what ended frames held; as rd_tenant.sweep. */
int rd_core_sweep(struct rd_core *c, struct rd_unmet *unmet);
/* Puts lanes to work unless the exec was destroyed; 0 then. Of a core made after its exec. */
int rd_core_start(struct rd_core *c);
/* Takes its lanes off their workers' agendas, and no tickets until rd_core_wake; under the exec's
 * lock. 0: it still runs, or is about to. */
int rd_core_rest(struct rd_core *c);
/* Puts them back. 0: the workers have not let go of them yet, or the exec was destroyed. */
int rd_core_wake(struct rd_core *c);
/* Tickets go to `by` from now on; `old`, of the same exec, retires. x->core is `by` already. */
void rd_core_replace(struct rd_core *old, struct rd_core *by);
rondo_status rd_core_need_interpreter(struct rd_core *c);

static inline struct rd_track *rd_core_track(const struct rd_core *c, uint64_t ticket)
{
    return c->tracks == 1 ? c->track : &c->track[ticket % c->tracks];
}
/* The track's own number of a replay. */
static inline uint64_t rd_core_local(const struct rd_core *c, const struct rd_track *t,
                                     uint64_t ticket)
{
    return (c->tracks == 1 ? ticket : ticket / c->tracks) - rd_load_relaxed(&t->offset);
}
/* What the track's source has reached, in the track's own numbers. */
static inline uint64_t rd_core_ended(const struct rd_track *t)
{
    uint64_t done = rd_load_acquire(&t->source->done), first = rd_load_relaxed(&t->first);
    return (done > first ? done : first) - rd_load_relaxed(&t->offset);
}

#endif
