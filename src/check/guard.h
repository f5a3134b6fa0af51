/* SPDX-License-Identifier: BSD-3-Clause */
/* Protects the pages of some memory while a function runs, and says which of its bytes that the
 * function must not touch it touched first. One at a time in a process. */
#ifndef RD_CHECK_GUARD_H
#define RD_CHECK_GUARD_H

#include <rondo/base.h>

/* Memory that is watched: the elements of a slot. */
struct rd_guard_range {
    char *base; /* NULL: none */
    size_t bytes;
    size_t row_bytes, pitch[2]; /* elements: rows of that many bytes, pitch[0] apart... */
    int64_t rows, planes;       /* so many of them in a plane, of planes pitch[1] apart */
};

enum { RD_GUARD_READ = 1, RD_GUARD_WRITE = 2 };

/* The first touch of a byte that the pages' marks do not allow. */
struct rd_guard_fault {
    char *address; /* NULL: there was none */
    int write;     /* 0: a read, 1: a write, -1: it is not known which */
};

/* Takes the guard, for as long as it needs, and the ranges: no page of them is marked. MEMORY,
 * SYSTEM; then the guard is not taken. */
rondo_status rd_guard_enter(const struct rd_guard_range *range, uint32_t count);
/* The bytes may be read, or written (and read), until disarmed. */
void rd_guard_mark(const char *at, size_t bytes, unsigned mode);
/* How many bytes from `at` on, at most `bytes`, are alike in being open: on pages that are not
 * protected against writing, because they are marked so or cannot be protected. */
size_t rd_guard_run(const char *at, size_t bytes, int *open);
/* From here on the marks hold, for this thread's touches (others' make the page open). */
void rd_guard_arm(void);
void rd_guard_disarm(struct rd_guard_fault *fault);
void rd_guard_leave(void);

#endif
