/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock and the futex, behind one table so that a deterministic scheduler can stand in. Never
 * on the path of an op. */
#ifndef RD_BASE_OS_H
#define RD_BASE_OS_H

#include "src/base/atomic.h"

struct rd_os {
    int64_t (*now_ns)(void); /* CLOCK_MONOTONIC */
    /* Sleeps while *word is `value`, at most timeout_ns (negative: for ever); may return at any
     * time. */
    void (*futex_wait)(rd_atomic32 *word, uint32_t value, int64_t timeout_ns);
    int (*futex_wake_all)(rd_atomic32 *word); /* how many it woke */
    /* Lets others have the CPU; never sleeps. */
    void (*yield)(void);
};
extern struct rd_os rd_os;

#endif
