/* SPDX-License-Identifier: BSD-3-Clause */
/* What every thread is doing, told from a signal handler: nothing here locks, allocates or trusts a
 * pointer. */
#ifndef RD_MACHINE_WHERE_H
#define RD_MACHINE_WHERE_H

#include "src/machine/work.h"

struct rd_runtime;

/* What a source is at. */
struct rd_where {
    char exec[64], node[96]; /* node "": none */
    uint64_t replay;         /* of the exec */
    uint32_t lane;
};

/* Fills *where (zeroed) from the memory of a source that may go away at any time, by rd_where_read
 * alone; 0 when there is nothing to tell. `running`: a thread has turned to the source, so that a
 * node told is the one it runs or ran last; else the node that comes next. */
typedef int rd_where_fn(const struct rd_work *work, int running, struct rd_where *where);

/* Who knows a kind of source says so once, before the first of that kind. */
void rd_where_know(uint32_t kind, rd_where_fn *fn);

/* Copies memory of this process; 0 when it is not there. */
int rd_where_read(void *to, const void *from, size_t bytes);
/* The same of a text, cut to fit. */
int rd_where_text(char *to, size_t room, const char *from);

void rd_where_add(struct rd_runtime *rt);
void rd_where_remove(struct rd_runtime *rt);

/* A thread that is no worker: the source it drives, by a relaxed store; NULL: none. */
struct rd_where_caller {
    RD_ALIGNED rd_atomic(struct rd_work *) work;
    rd_atomic32 tid;
};
extern _Thread_local struct rd_where_caller *rd_where_mine;
struct rd_where_caller *rd_where_claim(void);
static inline struct rd_where_caller *rd_where_me(void)
{
    return RD_LIKELY(rd_where_mine != NULL) ? rd_where_mine : rd_where_claim();
}

#endif
