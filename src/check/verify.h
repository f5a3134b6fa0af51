/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_VERIFY=n: every n-th replay runs twice from the same bytes, in the order of the recording,
 * as the interpreter might, and as the compiled lanes would, which wait for nothing but what the
 * plan says. The first node whose written bytes differ fails. What tasks do beside writing to slots
 * they do twice. */
#ifndef RD_CHECK_VERIFY_H
#define RD_CHECK_VERIFY_H

#include "src/check/regions.h"
#include "src/frame/slow.h"

/* Whether replays of the recording can be run twice; else `why` names the node that cannot. */
int rd_verify_can(const struct rd_subgraph *g, char *why, size_t bytes);
/* Beside what a frame's slots are, a node may reach the other buffers of rings. */
struct rd_verify_reach {
    void *exec;
    void *(*buffer)(void *exec, uint32_t slot, uint32_t i); /* NULL: it is no ring, or no longer */
};
/* A check for one track of a plan of the exec with these regions; both stay. MEMORY. */
rondo_status rd_verify_new(const struct rd_regions *regions, const struct rd_plan *plan,
                           const struct rd_verify_reach *reach, struct rd_check **check);
void rd_verify_free(struct rd_check *check); /* NULL: nothing */
/* rd_track.interpret of a track with such a check: frames with RD_SLOW_CHECK are verified, by lane
 * 0 alone; others interpreted. */
enum rd_advance rd_verify_interpret(struct rd_lane *l, struct rd_frame *f, uint32_t polls);

#endif
