/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/os.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void futex_wait(rd_atomic32 *word, uint32_t value, int64_t timeout_ns)
{
    struct timespec t = { timeout_ns / 1000000000, timeout_ns % 1000000000 };
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns < 0 ? NULL : &t, NULL, 0);
}

static int futex_wake_all(rd_atomic32 *word)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void yield(void) { sched_yield(); }

struct rd_os rd_os = { now_ns, futex_wait, futex_wake_all, yield };
