/* SPDX-License-Identifier: BSD-3-Clause */
/* Parking: no wake-up is lost, also where threads share spots, and timeouts end a sleep. All sleeps
 * but those of `timeout` have no time limit, so a lost wake-up hangs the test until its own. */
#include "src/base/os.h"
#include "src/base/park.h"
#include "tests/support/scale.h"

#include <criterion/criterion.h>
#include <pthread.h>

static rd_atomic64 counter, wake_word;

/* Sleeps until the counter has reached `value`, by the steps of src/base/park.h. */
static void await(uint64_t value)
{
    while (rd_load_acquire(&counter) < value) {
        uint32_t prepared = rd_park_prepare();
        rd_park_register(&wake_word);
        rd_fence(); /* partner: advance */
        if (rd_load_acquire(&counter) >= value)
            return;
        rd_park_sleep(prepared, -1);
    }
}

static void advance(void)
{
    rd_add_acq_rel(&counter, 1);
    rd_fence(); /* partner: await */
    rd_park_wake(&wake_word);
}

/* Player i of n moves the counter on whenever it stands at i modulo n. */
struct player {
    uint64_t first, step, end;
};

static void *play(void *argument)
{
    struct player *p = argument;
    uint64_t value;
    for (value = p->first; value < p->end; value += p->step) {
        await(value);
        advance();
    }
    return NULL;
}

static void game(unsigned players, uint64_t end)
{
    pthread_t thread[80];
    struct player player[80];
    unsigned i;
    rd_store_relaxed(&counter, 0);
    for (i = 0; i < players; i++) {
        player[i] = (struct player){ i, players, end };
        cr_assert_eq(pthread_create(&thread[i], NULL, play, &player[i]), 0);
    }
    for (i = 0; i < players; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    cr_assert_eq(rd_load_relaxed(&counter), end);
}

Test(park, two, .timeout = 60) { game(2, rd_test_scaled(40000)); }
Test(park, seven, .timeout = 60) { game(7, rd_test_scaled(10000)); }
/* More threads than spots. */
Test(park, shared_spots, .timeout = 60) { game(80, rd_test_scaled(2000)); }

Test(park, timeout)
{
    int64_t begin = rd_os.now_ns(), slept;
    uint32_t prepared = rd_park_prepare();
    /* A signal may end it early; it never lasts for ever. */
    rd_park_sleep(prepared, 2000000);
    slept = rd_os.now_ns() - begin;
    cr_assert_geq(slept, 1000000, "%lld ns", (long long)slept);
    /* After a wake the prepared value is old: no sleep at all. */
    prepared = rd_park_prepare();
    rd_park_wake_spot(rd_park_spot());
    rd_park_sleep(prepared, -1);
}

static rd_atomic32 asleep, woken;

static void *sleep_once(void *unused)
{
    uint32_t prepared = rd_park_prepare();
    rd_park_register(&wake_word);
    rd_add_acq_rel(&asleep, 1);
    rd_park_sleep(prepared, -1);
    rd_add_acq_rel(&woken, 1);
    return unused;
}

/* Of five registered, two are woken, then the others. */
Test(park, some, .timeout = 60)
{
    enum { SLEEPERS = 5 };
    pthread_t thread[SLEEPERS];
    uint64_t before, after;
    int i;
    for (i = 0; i < SLEEPERS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, sleep_once, NULL), 0);
    while (rd_load_acquire(&asleep) < SLEEPERS)
        rd_pause();
    before = rd_load_relaxed(&wake_word);
    cr_assert_eq(__builtin_popcountll(before), SLEEPERS);
    rd_fence();
    rd_park_wake_some(&wake_word, 2);
    after = rd_load_relaxed(&wake_word);
    cr_assert_eq(__builtin_popcountll(after), SLEEPERS - 2);
    cr_assert_eq(after & ~before, 0u);
    while (rd_load_acquire(&woken) < 2)
        rd_pause();
    rd_fence();
    rd_park_wake_some(&wake_word, 100);
    cr_assert_eq(rd_load_relaxed(&wake_word), 0u);
    for (i = 0; i < SLEEPERS; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
}
