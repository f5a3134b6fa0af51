/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_CHECK=access: whether a task touches what it declared, and nothing else of its exec's
 * memory. For execs that run one node at a time (interpreted, on one lane).
 *
 * Seen: a read or write of a page that no access of the node touches, a write of a page it only
 * reads, and, byte by byte, a change on pages it writes of what it does not write. Of several the
 * first touch, else the least address. Not seen: a read of what lies on a page with something that
 * may be read. What a RONDO_WRITE access covers is filled with RD_CHECK_JUNK first, so that a task
 * which does not overwrite it all, or reads it, gives wrong results.
 *
 * Not checked: nodes that touch everything; nodes that may pend (waits, teams, detached and
 * blocking tasks). Only the task's own thread is watched. */
#ifndef RD_CHECK_ACCESS_H
#define RD_CHECK_ACCESS_H

#include "src/check/regions.h"
#include "src/frame/slow.h"

enum { RD_CHECK_JUNK = 0xa5 };

/* A check for one track of an exec with these regions, which stay. MEMORY. */
rondo_status rd_access_check_new(const struct rd_regions *regions, struct rd_check **check);
void rd_access_check_free(struct rd_check *check); /* NULL: nothing */

#endif
