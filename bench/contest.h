/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures several entries against each other, interleaved: A B C A B C. Each entry is checked once
 * before it is measured.
 *
 * Where two counters happen to lie decides how long a cache line travels between two cores (up to
 * 1.5 times as long at one address as at another), so entries are built anew every few rounds, each
 * time elsewhere: no entry is lucky or unlucky for a whole run. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench/peers/peer.h"
#include "bench/timing.h"

enum { CONTEST_MAX = 32, CONTEST_JUNK_MAX = 256 };
/* Schedule `auto` has settled after so many replays. */
enum { CONTEST_SETTLED = 100 };

struct entry {
    const struct peer *peer;
    const struct graph *graph;
    struct setup setup;
    void *built;
    uint64_t count;    /* replays in a sample */
    uint64_t warm;     /* replays after each build that are not measured; for schedule `auto` so
                          many that it has settled */
    struct samples ns; /* per replay, one for each round */
};

struct contest {
    struct entry entry[CONTEST_MAX];
    unsigned entries;
    void *junk[CONTEST_JUNK_MAX]; /* keeps new builds off old addresses */
    unsigned junks;
};

/* Checks (and ends the program if it runs wrong) and builds. NULL if the peer cannot do it; then
 * `*why` (may be NULL) says why not. */
struct entry *contest_add(struct contest *contest, const struct peer *peer,
                          const struct graph *graph, const struct setup *setup, const char **why);
/* Takes `rounds` more samples of each entry. A sample has entry.count replays; where that is 0, as
 * many as take about sample_ns. */
void contest_measure(struct contest *contest, unsigned rounds, double sample_ns);
/* Builds an entry, or every entry, anew, elsewhere. */
void contest_rebuild_one(struct contest *contest, struct entry *entry);
void contest_rebuild(struct contest *contest);
/* One sample of one entry: quiet, a warm-up, and how long its replays took per replay. */
double contest_sample(struct entry *entry);
/* So many replays that they take about sample_ns. */
void contest_size(struct entry *entry, double sample_ns);
double entry_min(const struct entry *entry);    /* ns per node */
double entry_median(const struct entry *entry); /* the same */
/* Frees all. */
void contest_end(struct contest *contest);

#endif
