/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs' recordings as files: what is read back is written as the same bytes and has the
 * same nodes and edges. RONDO_TEST_SEED and RONDO_TEST_GRAPHS as in test_random. */
#include "tests/engine/engine_util.h"
#include "tests/engine/random_program.h"
#include "tests/support/graph_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct totals {
    uint64_t used[RG_F_COUNT], recordings, bytes;
};

static int run_program(rondo_runtime runtime, const rondo_counter *counter, uint64_t seed,
                       struct totals *t)
{
    struct rg_program *p = rg_program_new(seed);
    struct rg_run *run = rg_run_new(p, 1);
    uint32_t *version = calloc(p->record_count, sizeof *version);
    int wrong = !version;
    memcpy(run->counter, counter, sizeof run->counter);
    for (uint32_t m = 0; m < p->member_count && !wrong; m++) {
        struct rg_recorded recorded;
        struct graph_text json = { NULL, 0, 0 };
        const char *what = NULL;
        if (rg_record(run, runtime, m, version, &recorded))
            what = run->what;
        else
            what = graph_text_round_trip(runtime, recorded.subgraph, counter, &json);
        if (what)
            fprintf(stderr, "RONDO_TEST_SEED=%llu RONDO_TEST_GRAPHS=1, member %u: %s\n",
                    (unsigned long long)seed, m, what);
        wrong = what != NULL;
        t->recordings++;
        t->bytes += json.bytes;
        free(json.text);
        rg_recorded_free(&recorded);
    }
    for (uint32_t f = 0; f < RG_F_COUNT; f++)
        t->used[f] += p->used >> f & 1;
    free(version);
    rg_run_free(run);
    rg_program_free(p);
    return wrong;
}

Test(engine_random_files, what_is_read_is_what_was_written, .timeout = 3600)
{
    uint64_t first = et_number("RONDO_TEST_SEED", 1), wrong = 0;
    uint64_t programs = et_scaled(et_number("RONDO_TEST_GRAPHS", 2000), 1);
    rondo_runtime runtime = et_runtime(4);
    rondo_counter counter[RG_COUNTERS];
    struct totals t = { 0 };
    const char *left;
    for (int i = 0; i < RG_COUNTERS; i++)
        cr_assert_eq(rondo_counter_create(runtime, 0, &counter[i]), RONDO_OK);
    for (uint64_t k = 0; k < programs && wrong < 5; k++)
        wrong += run_program(runtime, counter, first + k, &t) != 0;
    cr_assert_eq(wrong, 0, "%llu programs differ, see above", (unsigned long long)wrong);
    for (int i = 0; i < RG_COUNTERS; i++)
        cr_assert_eq(rondo_counter_destroy(counter[i]), RONDO_OK);
    left = et_close_clean(runtime);
    cr_assert(!left, "%s", left ? left : "");
    printf("%llu recordings, %llu bytes\n", (unsigned long long)t.recordings,
           (unsigned long long)t.bytes);
    for (uint32_t f = 0; f < RG_F_DEVICE && programs >= 2000; f++)
        cr_assert(t.used[f] > 0, "nothing used %s", rg_feature_names[f]);
}
