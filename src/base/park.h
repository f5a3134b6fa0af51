/* SPDX-License-Identifier: BSD-3-Clause */
/* Parking: how a thread sleeps until one of several words changes.
 *
 * Safety. There are 64 spots; a thread uses one, and with more threads than spots several share
 * one. A spot's word is {sequence:31, sleeping:1}. A waker adds to the sequence, which clears the
 * sleeping bit, and calls the kernel only if the bit was set. A parker (1) reads the word with the
 * bit set, (2) registers its spot's bit in the wake words of what it waits for, (3) fences, (4)
 * looks at what it waits for again, (5) sleeps only while the spot's word is what it read in (1). A
 * waker (a) makes the change, (b) fences, (c) takes the wake word by exchange, (d) wakes the spots
 * in it. Between 2-4 and a-c one of the two sees the other (Dekker): either the parker sees the
 * change or the waker sees the bit; and a wake after (1) changes the word, so (5) returns at once.
 * A spot shared by two threads wakes both; that is harmless, as is a bit left over from an earlier
 * park: it costs its waker one wake of a spot that nobody sleeps on. So bits are never taken back
 * by parkers. */
#ifndef RD_BASE_PARK_H
#define RD_BASE_PARK_H

#include "src/base/atomic.h"

/* This thread's spot, 0 to 63. */
uint32_t rd_park_spot(void);
static inline uint64_t rd_park_bit(void) { return 1ull << rd_park_spot(); }

/* Step 1: the value to sleep on. */
uint32_t rd_park_prepare(void);
/* Step 5: sleeps at most timeout_ns (negative: for ever). A parker that need not sleep after all
 * does nothing: its bit stays (others may sleep on a shared spot), and its next waker calls the
 * kernel once for nothing. */
void rd_park_sleep(uint32_t prepared, int64_t timeout_ns);

/* Steps c and d: wakes every spot registered in a wake word. The caller has fenced since its
 * change. */
void rd_park_wake(rd_atomic64 *wake_word);
/* As rd_park_wake, but only until `most` spots were woken that somebody slept on; the others stay
 * registered. */
void rd_park_wake_some(rd_atomic64 *wake_word, int most);
/* How many sleepers a waker of some wakes: two; all where threads share spots, since then a sleeper
 * may be another one than who registered. */
int rd_park_some(void);
/* Wakes one spot; whether the kernel woke somebody there. */
int rd_park_wake_spot(uint32_t spot);

/* Step 2 for one wake word. */
static inline void rd_park_register(rd_atomic64 *wake_word)
{
    uint64_t bit = rd_park_bit();
    if (!(rd_load_relaxed(wake_word) &
          bit))                        /* only this spot sets it, a taker clears it: see step 4 */
        rd_or_relaxed(wake_word, bit); /* ordered with the look by the parker's fence */
}

#endif
