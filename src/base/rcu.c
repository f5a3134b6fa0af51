/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads' registration, and grace periods. */
#include "src/base/rcu.h"

#include <pthread.h>

#ifdef RD_TSAN
char rd_rcu_edge;
#endif

_Thread_local int rd_rcu_registered;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void unregister_thread(void *value)
{
    (void)value;
    rd_rcu_registered = 0;
    urcu_memb_unregister_thread();
}

static void make_key(void) { pthread_key_create(&at_thread_end, unregister_thread); }

__attribute__((noinline)) void rd_rcu_register(void)
{
    pthread_once(&once, make_key);
    urcu_memb_register_thread();
    pthread_setspecific(at_thread_end, &once); /* any value but NULL */
    rd_rcu_registered = 1;
}

void rd_rcu_synchronize(void)
{
    urcu_memb_synchronize_rcu();
    RD_EDGE_ACQUIRE();
}
