/* SPDX-License-Identifier: BSD-3-Clause */
/* The only file that includes liburcu. Publication goes through C11 atomics; ThreadSanitizer cannot
 * see into liburcu's assembly, so the edge from a read section's end to the grace period's is told
 * to it. */
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#include "src/base/rcu.h"

#include <pthread.h>
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
static char edge; /* read unlock -> end of a later grace period */
#define EDGE_RELEASE() __tsan_release(&edge)
#define EDGE_ACQUIRE() __tsan_acquire(&edge)
#else
#define EDGE_RELEASE() ((void)0)
#define EDGE_ACQUIRE() ((void)0)
#endif

static _Thread_local int registered;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void unregister_thread(void *value)
{
    (void)value;
    registered = 0;
    urcu_memb_unregister_thread();
}

static void make_key(void) { pthread_key_create(&at_thread_end, unregister_thread); }

static __attribute__((noinline)) void register_thread(void)
{
    pthread_once(&once, make_key);
    urcu_memb_register_thread();
    pthread_setspecific(at_thread_end, &once); /* any value but NULL */
    registered = 1;
}

void rd_rcu_read_lock(void)
{
    if (__builtin_expect(!registered, 0))
        register_thread();
    urcu_memb_read_lock();
}

void rd_rcu_read_unlock(void)
{
    EDGE_RELEASE();
    urcu_memb_read_unlock();
}

void rd_rcu_synchronize(void)
{
    urcu_memb_synchronize_rcu();
    EDGE_ACQUIRE();
}
