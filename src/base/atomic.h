/* SPDX-License-Identifier: BSD-3-Clause */
/* Every atomic access of the project, with its memory order in its name. */
#ifndef RD_BASE_ATOMIC_H
#define RD_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic(uint32_t) rd_atomic32;
typedef _Atomic(uint64_t) rd_atomic64;
#define rd_atomic(T) _Atomic(T)

#define rd_load_relaxed(p)        atomic_load_explicit((p), memory_order_relaxed)
#define rd_load_acquire(p)        atomic_load_explicit((p), memory_order_acquire)
#define rd_store_relaxed(p, v)    atomic_store_explicit((p), (v), memory_order_relaxed)
#define rd_store_release(p, v)    atomic_store_explicit((p), (v), memory_order_release)
#define rd_add_relaxed(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define rd_add_acq_rel(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define rd_sub_acq_rel(p, v)      atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define rd_sub_relaxed(p, v)      atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define rd_or_relaxed(p, v)       atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define rd_or_acq_rel(p, v)       atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define rd_and_acq_rel(p, v)      atomic_fetch_and_explicit((p), (v), memory_order_acq_rel)
#define rd_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
/* Strong, so that a failure means another value was there. */
#define rd_cas_relaxed(p, expected, v)                                                  \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_relaxed, \
                                            memory_order_relaxed)
#define rd_cas_acquire(p, expected, v)                                                  \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire, \
                                            memory_order_relaxed)
#define rd_cas_acq_rel(p, expected, v)                                                  \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, \
                                            memory_order_acquire)

/* A relaxed load and store of a plain object that another thread may change meanwhile. */
#define rd_load_shared(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define rd_store_shared(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* A full fence: orders a store before it with a load after it (Dekker). Every use names its
 * partner. Publication never relies on it, so it may be invisible to ThreadSanitizer. */
static inline void rd_fence(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    /* A locked operation on the stack is a full fence for ordinary memory and half the price of
     * mfence (Intel SDM vol. 3, 8.2.3.9). */
    __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* rd_store_release and rd_fence in one: on x86 an exchange is both. */
static inline void rd_store_fence32(rd_atomic32 *p, uint32_t value)
{
#if defined(__x86_64__)
    atomic_exchange_explicit(p, value, memory_order_seq_cst);
#else
    rd_store_release(p, value);
    rd_fence();
#endif
}

/* Tells the core that this is a spin loop. */
static inline void rd_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Adjacent-line prefetchers pair lines of 64 bytes: what must not share a line is kept 128 apart.
 */
#define RD_LINE    128
#define RD_ALIGNED _Alignas(RD_LINE)

#define RD_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RD_NOINLINE    __attribute__((noinline))

#endif
