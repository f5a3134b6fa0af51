/* SPDX-License-Identifier: BSD-3-Clause */
/* Read sections and grace periods: liburcu's memb flavour. A read section is never held over a task
 * or a wait. A thread registers at its first read section and unregisters when it ends.
 *
 * The only file that includes liburcu. Publication goes through C11 atomics; ThreadSanitizer cannot
 * see into liburcu's assembly, so the edge from a read section's end to the grace period's is told
 * to it. */
#ifndef RD_BASE_RCU_H
#define RD_BASE_RCU_H

#ifndef _LGPL_SOURCE
#define _LGPL_SOURCE /* read sections inline: a replay has two */
#endif
#include <urcu/urcu-memb.h>

#if defined(__SANITIZE_THREAD__)
#define RD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RD_TSAN 1
#endif
#endif
#ifdef RD_TSAN
void __tsan_acquire(void *);
void __tsan_release(void *);
extern char rd_rcu_edge; /* read unlock -> end of a later grace period */
#define RD_EDGE_RELEASE() __tsan_release(&rd_rcu_edge)
#define RD_EDGE_ACQUIRE() __tsan_acquire(&rd_rcu_edge)
#else
#define RD_EDGE_RELEASE() ((void)0)
#define RD_EDGE_ACQUIRE() ((void)0)
#endif

extern _Thread_local int rd_rcu_registered;
void rd_rcu_register(void);

/* May nest. */
static inline void rd_rcu_read_lock(void)
{
    if (__builtin_expect(!rd_rcu_registered, 0))
        rd_rcu_register();
    urcu_memb_read_lock();
}

static inline void rd_rcu_read_unlock(void)
{
    RD_EDGE_RELEASE();
    urcu_memb_read_unlock();
}

/* Returns when every read section begun before has ended. Never inside a read section. */
void rd_rcu_synchronize(void);

#endif
