/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/park.h"

#include "src/base/os.h"

enum { SPOTS = 64 };

static struct {
    RD_ALIGNED rd_atomic32 word;
} spots[SPOTS];
static rd_atomic32 given;
static _Thread_local uint32_t mine; /* spot + 1 */

uint32_t rd_park_spot(void)
{
    if (RD_UNLIKELY(!mine))
        mine = rd_add_relaxed(&given, 1) % SPOTS + 1; /* a number, orders nothing */
    return mine - 1;
}

uint32_t rd_park_prepare(void)
{
    /* Acquire: a parker that sees a wake here sees its bit gone from the wake word too, and
     * registers anew. The parker's fence orders it with the wakers' look. */
    return rd_or_acq_rel(&spots[rd_park_spot()].word, 1) | 1;
}

void rd_park_sleep(uint32_t prepared, int64_t timeout_ns)
{
    rd_atomic32 *word = &spots[rd_park_spot()].word;
    rd_os.futex_wait(word, prepared, timeout_ns);
    rd_load_acquire(word); /* what the waker did before; pairs with rd_park_wake_spot */
}

int rd_park_some(void) { return rd_load_relaxed(&given) > SPOTS ? SPOTS : 2; }

int rd_park_wake_spot(uint32_t spot)
{
    rd_atomic32 *word = &spots[spot].word;
    uint32_t old = rd_load_relaxed(word);
    /* acq_rel: what the waker wrote before is seen by the thread it wakes, without the kernel's
     * help. */
    while (!rd_cas_acq_rel(word, &old, (old + 2) & ~1u))
        ;
    return (old & 1) && rd_os.futex_wake_all(word) > 0;
}

RD_NOINLINE void rd_park_wake(rd_atomic64 *wake_word)
{
    uint64_t bits = rd_exchange_acq_rel(wake_word, 0);
    for (; bits; bits &= bits - 1)
        rd_park_wake_spot((uint32_t)__builtin_ctzll(bits));
}

RD_NOINLINE void rd_park_wake_some(rd_atomic64 *wake_word, int most)
{
    uint64_t bits = rd_load_relaxed(wake_word), taken;
    for (; bits && most > 0; bits &= ~taken) {
        taken = bits & -bits;
        /* A bit that another waker took, or whose spot was awake, has not used up a wake. */
        if (rd_and_acq_rel(wake_word, ~taken) & taken)
            most -= rd_park_wake_spot((uint32_t)__builtin_ctzll(taken));
    }
}
