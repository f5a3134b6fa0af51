/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening runtimes: options, hooks, scheduling, sharing, CPU lists of a runtime. */
#include "tests/engine/engine_util.h"
#include "tests/machine/fake.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4 };

static struct {
    rd_atomic32 started[MOST + 1], stopped[MOST + 1]; /* the last: RONDO_ANY_CPU */
    rd_atomic32 policy;
    uint32_t fails; /* processor + 1 whose start fails */
} hooks;

static uint32_t index_of(rondo_processor processor)
{
    return processor == RONDO_ANY_CPU ? MOST : processor - RONDO_CPU(0);
}
static rondo_status start(void *context, rondo_processor processor)
{
    cr_assert_eq(context, &hooks);
    rd_store_relaxed(&hooks.policy, (uint32_t)sched_getscheduler(0));
    if (processor == RONDO_CPU(hooks.fails) - 1)
        return RONDO_ERR_DEADLINE;
    rd_add_relaxed(&hooks.started[index_of(processor)], 1);
    return RONDO_OK;
}
static void stop(void *context, rondo_processor processor)
{
    cr_assert_eq(context, &hooks);
    rd_add_relaxed(&hooks.stopped[index_of(processor)], 1);
}

static const struct {
    const char *what;
    rondo_runtime_options o;
    uint32_t workers, fails;
    rondo_status status;
    const char *message;
} open_cases[] = {
    { "plain", { .adopt = 0 }, 3, 0, RONDO_OK, NULL },
    { "adopted ones have no hooks", { .adopt = 2 }, 3, 0, RONDO_OK, NULL },
    { "all adopted", { .adopt = 3 }, 3, 0, RONDO_OK, NULL },
    { "more adopted than there are",
      { .adopt = 4 },
      3,
      0,
      RONDO_ERR_INVALID,
      "runtime: adopt is 4, there are 3 processors" },
    { "unknown flags", { .flags = 6 }, 1, 0, RONDO_ERR_INVALID, "runtime: flags is 0x6" },
    { "a priority alone",
      { .sched_priority = 3 },
      1,
      0,
      RONDO_ERR_INVALID,
      "runtime: sched_priority is 3 without a sched_policy" },
    { "a time before never",
      { .park_after_ns = -2 },
      1,
      0,
      RONDO_ERR_INVALID,
      "runtime: park_after_ns is -2" },
    { "batch scheduling", { .sched_policy = SCHED_BATCH }, 2, 0, RONDO_OK, NULL },
    { "no such policy",
      { .sched_policy = 77, .sched_priority = 1 },
      2,
      0,
      RONDO_ERR_SYSTEM,
      "sched_policy 77, sched_priority 1: " },
    { "never", { .park_after_ns = RONDO_NEVER }, 2, 0, RONDO_OK, NULL },
    { "the first start fails",
      { .adopt = 0 },
      3,
      1,
      RONDO_ERR_DEADLINE,
      "runtime: worker 0: thread_start returned status 9" },
    { "the last start fails",
      { .adopt = 0 },
      3,
      3,
      RONDO_ERR_DEADLINE,
      "runtime: worker 2: thread_start returned status 9" },
};

Test(runtime, options)
{
    for (size_t c = 0; c < sizeof open_cases / sizeof *open_cases; c++) {
        rondo_runtime_options o = open_cases[c].o;
        rondo_runtime runtime = { 7 };
        rondo_status status;
        uint32_t open_ended = open_cases[c].status == RONDO_OK;
        char list[256];
        memset(&hooks, 0, sizeof hooks);
        hooks.fails = open_cases[c].fails;
        et_cpu_list(open_cases[c].workers, list, sizeof list);
        o.cpus = list;
        o.thread_start = start;
        o.thread_stop = stop;
        o.context = &hooks;
        status = rondo_runtime_open(&o, &runtime);
        cr_assert_eq(status, open_cases[c].status, "%s: %d: %s", open_cases[c].what, status,
                     rondo_error_message());
        if (status)
            cr_assert_not_null(strstr(rondo_error_message(), open_cases[c].message), "%s: %s",
                               open_cases[c].what, rondo_error_message());
        for (uint32_t i = 0; open_ended && i < open_cases[c].workers; i++)
            cr_assert_eq(rd_load_relaxed(&hooks.started[i]), i >= o.adopt, "%s: worker %u",
                         open_cases[c].what, i);
        if (o.sched_policy == SCHED_BATCH)
            cr_assert_eq(rd_load_relaxed(&hooks.policy), SCHED_BATCH);
        if (open_ended)
            cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
        else
            cr_assert_eq(runtime.id, 7, "%s: the output was written", open_cases[c].what);
        for (uint32_t i = 0; i <= MOST; i++)
            cr_assert_eq(rd_load_relaxed(&hooks.started[i]), rd_load_relaxed(&hooks.stopped[i]),
                         "%s: worker %u was started and not stopped", open_cases[c].what, i);
    }
}

Test(runtime, shared)
{
    const rondo_runtime_options o = { .flags = RONDO_SHARED };
    const rondo_runtime_options other = { .flags = RONDO_SHARED, .park_after_ns = 1, .adopt = 1 };
    const rondo_runtime_options bad = { .flags = RONDO_SHARED, .cpus = "0-" };
    rondo_runtime a, b, c, own;
    uint32_t count;
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(rondo_runtime_open(&bad, &a), RONDO_ERR_INVALID);
        cr_assert_eq(rondo_runtime_open(&o, &a), RONDO_OK);
        cr_assert_eq(rondo_runtime_open(&other, &b), RONDO_OK);
        cr_assert_eq(rondo_runtime_open(NULL, &own), RONDO_OK);
        cr_assert_eq(rondo_runtime_open(&bad, &c), RONDO_ERR_INVALID);
        cr_assert_eq(a.id, b.id);
        cr_assert_neq(a.id, own.id);
        cr_assert_eq(fake_runtime(a)->adopted, 0, "a joiner's options were used");
        cr_assert_eq(rondo_runtime_close(own), RONDO_OK);
        cr_assert_eq(rondo_runtime_close(a), RONDO_OK);
        cr_assert_eq(rondo_runtime_processors(b, &count), RONDO_OK, "closed under its user");
        cr_assert_eq(rondo_runtime_open(&o, &c), RONDO_OK);
        cr_assert_eq(c.id, b.id);
        cr_assert_eq(rondo_runtime_close(c), RONDO_OK);
        cr_assert_eq(rondo_runtime_close(b), RONDO_OK);
        cr_assert_eq(rondo_runtime_processors(b, &count), RONDO_ERR_STALE);
        cr_assert_eq(rondo_runtime_close(b), RONDO_ERR_STALE);
    }
}

/* ---- CPU lists of a runtime, by places of this process's first two CPUs A and B */

static const struct {
    const char *runtime, *list, *places, *message;
} list_cases[] = {
    { "A", NULL, "0", NULL },
    { "A,A", NULL, "01", NULL },
    { "A", "A", "0", NULL },
    { "A,A", "A", "0", NULL },
    { "A,A", "A,A", "01", NULL },
    { "A,B,A", "B,A,A", "102", NULL },
    { "A,B,A", "B", "1", NULL },
    { "A", "A,A", NULL, "is named more often than in the runtime's CPUs" },
    { "A", "99999", NULL, "CPU 99999 is not in the runtime's CPUs" },
    { "A", "", NULL, "the list is empty" },
    { "A", "A,", NULL, "a CPU number is expected" },
};

static void expand(const char *pattern, char *text, size_t bytes)
{
    char two[64], *b;
    size_t used = 0;
    et_cpu_list(2, two, sizeof two);
    b = strchr(two, ',');
    *b++ = 0;
    text[0] = 0;
    for (; *pattern; pattern++)
        used += (size_t)(*pattern == 'A'   ? snprintf(text + used, bytes - used, "%s", two)
                         : *pattern == 'B' ? snprintf(text + used, bytes - used, "%s", b)
                                           : snprintf(text + used, bytes - used, "%c", *pattern));
}

Test(runtime, cpu_lists)
{
    char two[64];
    et_cpu_list(2, two, sizeof two);
    for (size_t c = 0; c < sizeof list_cases / sizeof *list_cases; c++) {
        char cpus[64], list[64];
        rondo_runtime runtime;
        struct rd_runtime *rt;
        uint32_t *processors = NULL, count = 0;
        rondo_status status;
        expand(list_cases[c].runtime, cpus, sizeof cpus);
        expand(list_cases[c].list ? list_cases[c].list : "", list, sizeof list);
        cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &runtime),
                     RONDO_OK);
        rt = fake_runtime(runtime);
        status = rd_cpus_of_runtime(rt, list_cases[c].list ? list : NULL, &processors, &count);
        if (list_cases[c].places) {
            cr_assert_eq(status, RONDO_OK, "'%s': %s", list, rondo_error_message());
            cr_assert_eq(count, strlen(list_cases[c].places));
            for (uint32_t i = 0; i < count; i++)
                /* With one CPU only, B is A. */
                if (strcmp(two, "0,0") != 0)
                    cr_assert_eq(processors[i], (uint32_t)(list_cases[c].places[i] - '0'),
                                 "'%s': entry %u is %u", list, i, processors[i]);
            rd_free_array(&rt->alloc, processors, count, sizeof *processors);
        } else {
            cr_assert_eq(status, RONDO_ERR_INVALID, "'%s'", list);
            cr_assert_not_null(strstr(rondo_error_message(), list_cases[c].message), "%s",
                               rondo_error_message());
        }
        cr_assert_eq(rondo_runtime_close(runtime), RONDO_OK);
    }
}
