/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests whose outcome is known, most of them bad: they show that the runner tells it. They are no
 * part of the project's own tests; the build runs each one and expects its verdict. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int ready;
static void make_ready(void) { ready = 1; }

TestSuite(planted, .init = make_ready);

Test(planted, passes)
{
    cr_assert(ready);
    cr_assert_str_eq("a", "a");
}

Test(planted, aborts)
{
    cr_assert_eq(ready, 2, "ready is %d", ready);
    exit(0);
}

Test(planted, goes_on)
{
    cr_expect_str_eq("one", "two");
    cr_assert_not_null(&ready);
}

static void *expect_failure(void *unused)
{
    cr_assert(unused);
    return NULL;
}

Test(planted, thread)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, expect_failure, NULL), 0);
    pthread_join(thread, NULL);
}

Test(planted, signal_expected, .signal = SIGTERM) { raise(SIGTERM); }
Test(planted, signal_missing, .signal = SIGTERM) {}
Test(planted, signal_unexpected) { raise(SIGTERM); }
Test(planted, exit_expected, .exit_code = 3) { exit(3); }
Test(planted, exit_unexpected) { exit(3); }
Test(planted, skips) { cr_skip("nothing to test"); }
Test(planted, disabled, .disabled = true) { abort(); }
Test(planted, late, .timeout = 0.01)
{
    for (;;)
        pause();
}

Test(planted, leaks)
{
    void *volatile block = malloc(100);
    cr_assert_not_null(block);
    block = NULL;
}

static int raced;
static void *race(void *unused)
{
    raced++;
    return unused;
}

Test(planted, races)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, race, NULL), 0);
    raced++;
    pthread_join(thread, NULL);
}
