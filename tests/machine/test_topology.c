/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU lists, binding and the machine's summary. */
#include "src/base/error.h"
#include "src/machine/topology.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists are written with A and B for two neighbouring CPUs of this machine, and Z for a number that
 * no machine has. */
static uint32_t cpu_a, cpu_b;
static int have_b;

static void set_mask(int with_b)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu_a, &set);
    if (with_b)
        CPU_SET(cpu_b, &set);
    cr_assert_eq(sched_setaffinity(0, sizeof set, &set), 0);
}

/* The calling thread's mask becomes {A, B}, or {A} where no two CPUs are neighbours. */
static void choose_cpus(void)
{
    cpu_set_t set;
    uint32_t cpu;
    int have_a = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    for (cpu = 0; cpu + 1 < CPU_SETSIZE && !have_b; cpu++) {
        if (!CPU_ISSET(cpu, &set))
            continue;
        have_b = CPU_ISSET(cpu + 1, &set);
        if (!have_a || have_b)
            cpu_a = cpu;
        have_a = 1;
    }
    cpu_b = cpu_a + 1;
    cr_assert(have_a);
    set_mask(have_b);
}

static void expand(const char *pattern, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (; *pattern; pattern++) {
        if (*pattern == 'A' || *pattern == 'B')
            used +=
                (size_t)snprintf(text + used, bytes - used, "%u", *pattern == 'A' ? cpu_a : cpu_b);
        else if (*pattern == 'Z')
            used += (size_t)snprintf(text + used, bytes - used, "99999");
        else
            used += (size_t)snprintf(text + used, bytes - used, "%c", *pattern);
        cr_assert_lt(used, bytes);
    }
}

static void check_list(const char *pattern, const char *expected)
{
    struct rd_allocator *a = rd_allocator_system();
    struct rd_cpus cpus = { NULL, 0 };
    char text[256];
    uint32_t i;
    if (pattern)
        expand(pattern, text, sizeof text);
    cr_assert_eq(rd_cpus_parse(a, "cpus", pattern ? text : NULL, &cpus), RONDO_OK, "%s: %s",
                 pattern ? text : "NULL", rd_error_text());
    cr_assert_eq(cpus.count, strlen(expected), "'%s' has %u entries", pattern ? text : "NULL",
                 cpus.count);
    for (i = 0; i < cpus.count; i++)
        cr_assert_eq(cpus.cpu[i], expected[i] == 'A' ? cpu_a : cpu_b, "'%s': entry %u is %u",
                     pattern ? text : "NULL", i, cpus.cpu[i]);
    rd_cpus_free(a, &cpus);
    cr_assert_null(cpus.cpu);
    rd_cpus_free(a, &cpus);
}

Test(topology, lists)
{
    static const struct {
        const char *list, *expected;
        int needs_b;
    } good[] = {
        { "A", "A", 0 },
        { "A,A,A", "AAA", 0 },
        { "A-A", "A", 0 },
        { "00A", "A", 0 },
        { "B,A", "BA", 1 },
        { "A-B", "AB", 1 },
        { "A-B,A,B-B", "ABAB", 1 },
        { "B,A-B,B", "BABB", 1 },
    };
    uint64_t before = rd_load_relaxed(&rd_allocator_system()->bytes);
    size_t i;
    choose_cpus();
    for (i = 0; i < sizeof good / sizeof *good; i++)
        if (have_b || !good[i].needs_b)
            check_list(good[i].list, good[i].expected);
    check_list(NULL, have_b ? "AB" : "A");
    if (have_b)
        cr_assert_eq(rd_cpus_allowed() == 1 || rd_cpus_allowed() == 2, 1);
    set_mask(0);
    check_list(NULL, "A");
    cr_assert_eq(rd_cpus_allowed(), 1u);
    cr_assert_eq(rd_load_relaxed(&rd_allocator_system()->bytes), before);
}

Test(topology, bad_lists)
{
    static const struct {
        const char *list, *message;
    } bad[] = {
        { "", "cpus \"\": the list is empty" },
        { ",A", "cpus \",A\": character 1: a CPU number is expected" },
        { " A", "cpus \" A\": character 1: a CPU number is expected" },
        { "-A", "cpus \"-A\": character 1: a CPU number is expected" },
        { "x", "cpus \"x\": character 1: a CPU number is expected" },
        { "Z-", "cpus \"Z-\": character 7: a CPU number is expected" },
        { "Z-,", "cpus \"Z-,\": character 7: a CPU number is expected" },
        { "Z-A", "cpus \"Z-A\": character 1: the range Z-A is reversed" },
        { "Z", "cpus \"Z\": character 1: CPU Z is not in the caller's affinity mask A" },
        { "8192", "cpus \"8192\": character 1: CPU 8192 is not in the caller's affinity mask A" },
        { "4294967296", "cpus \"4294967296\": character 1: CPU 4294967295 is not in the caller's "
                        "affinity mask A" },
        { "B", "cpus \"B\": character 1: CPU B is not in the caller's affinity mask A" },
        { "A-4294967295", "cpus \"A-4294967295\": character 1: CPU B is not in the caller's "
                          "affinity mask A" },
    };
    struct rd_allocator *a = rd_allocator_system();
    struct rd_cpus cpus = { NULL, 7 };
    char text[256], message[512];
    uint64_t before;
    size_t i;
    choose_cpus();
    set_mask(0);
    before = rd_load_relaxed(&a->bytes);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        expand(bad[i].list, text, sizeof text);
        cr_assert_eq(rd_cpus_parse(a, "cpus", text, &cpus), RONDO_ERR_INVALID, "'%s'", text);
        expand(bad[i].message + 1, message, sizeof message);
        cr_assert_str_eq(rd_error_text() + 1, message);
        cr_assert(!cpus.cpu && cpus.count == 7, "'%s' changed the output", text);
    }
    cr_assert_eq(rd_load_relaxed(&a->bytes), before);
}

/* Where in a list, and what follows a whole entry, independent of how many digits A has. */
Test(topology, places)
{
    static const struct {
        const char *after; /* of "A" */
        uint32_t place;    /* behind it */
        const char *what;
    } bad[] = {
        { ",", 2, "a CPU number is expected" },     { ",,", 2, "a CPU number is expected" },
        { ", ", 2, "a CPU number is expected" },    { ";", 1, "',' is expected, not ';'" },
        { "-", 2, "a CPU number is expected" },     { "--", 2, "a CPU number is expected" },
        { "x", 1, "',' is expected, not 'x'" },     { ".5", 1, "',' is expected, not '.'" },
        { ",0x1", 3, NULL /* 0 may be foreign */ },
    };
    struct rd_cpus cpus = { NULL, 0 };
    char text[64], message[128];
    size_t i;
    choose_cpus();
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        int digits = snprintf(text, sizeof text, "%u", cpu_a);
        snprintf(text + digits, sizeof text - (size_t)digits, "%s", bad[i].after);
        cr_assert_eq(rd_cpus_parse(rd_allocator_system(), "cleaner_cpus", text, &cpus),
                     RONDO_ERR_INVALID);
        if (!bad[i].what)
            continue;
        snprintf(message, sizeof message, "cleaner_cpus \"%s\": character %u: %s", text,
                 (unsigned)digits + bad[i].place, bad[i].what);
        cr_assert_str_eq(rd_error_text(), message);
    }
}

static void *no_memory(void *context, size_t bytes, size_t align)
{
    (void)bytes, (void)align;
    ++*(int *)context;
    return NULL;
}

static void give_back(void *context, void *block)
{
    (void)context;
    free(block);
}

Test(topology, limits)
{
    enum { MOST = 4096 };
    struct rd_allocator *a = rd_allocator_system(), none;
    struct rd_cpus cpus = { NULL, 0 };
    int asked = 0, digits;
    char number[16], message[192], *text;
    uint32_t i;
    choose_cpus();
    digits = snprintf(number, sizeof number, "%u,", cpu_a);
    text = calloc((size_t)digits, MOST + 2);
    cr_assert_not_null(text);
    for (i = 0; i < MOST; i++)
        memcpy(text + (size_t)digits * i, number, (size_t)digits);
    text[digits * MOST - 1] = 0;
    cr_assert_eq(rd_cpus_parse(a, "cpus", text, &cpus), RONDO_OK);
    cr_assert_eq(cpus.count, MOST);
    rd_cpus_free(a, &cpus);
    text[digits * MOST - 1] = ',';
    snprintf(text + digits * MOST, (size_t)digits, "%u", cpu_a);
    cr_assert_eq(rd_cpus_parse(a, "cpus", text, &cpus), RONDO_ERR_INVALID);
    /* Of a long list only the beginning is shown. */
    snprintf(message, sizeof message, "cpus \"%.80s...\": character %d: more than 4096 entries",
             text, digits * MOST + 1);
    cr_assert_str_eq(rd_error_text(), message);
    free(text);

    rd_allocator_init(&none, no_memory, give_back, &asked);
    snprintf(number, sizeof number, "%u", cpu_a);
    cr_assert_eq(rd_cpus_parse(&none, "cpus", number, &cpus), RONDO_ERR_MEMORY);
    cr_assert_str_eq(rd_error_text(), "cpus: no memory for 1 CPU numbers");
    cr_assert_eq(asked, 1);
    cr_assert_eq(rd_load_relaxed(&none.bytes), 0u);
}

struct binding {
    uint32_t cpu, count;
    rondo_status status;
    cpu_set_t after;
    char message[128];
};

static void *bind_thread(void *argument)
{
    struct binding *b = argument;
    uint32_t cpus[2] = { b->cpu, cpu_b };
    b->status = rd_thread_bind(cpus, b->count);
    if (b->status)
        snprintf(b->message, sizeof b->message, "%.120s", rd_error_text());
    sched_getaffinity(0, sizeof b->after, &b->after);
    return NULL;
}

Test(topology, binding)
{
    /* All at once: the first to come loads the topology. */
    struct binding b[6];
    pthread_t thread[6];
    uint32_t i;
    choose_cpus();
    for (i = 0; i < 6; i++) {
        b[i] = (struct binding){ .cpu = cpu_a, .count = i < 3 || !have_b ? 1 : 2 };
        if (i == 5)
            b[i] = (struct binding){ .cpu = 8000, .count = 1 };
        cr_assert_eq(pthread_create(&thread[i], NULL, bind_thread, &b[i]), 0);
    }
    for (i = 0; i < 6; i++)
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
    for (i = 0; i < 5; i++) {
        cr_assert_eq(b[i].status, RONDO_OK, "%s", b[i].message);
        cr_assert_eq(CPU_COUNT(&b[i].after), (int)b[i].count);
        cr_assert(CPU_ISSET(cpu_a, &b[i].after));
        cr_assert_eq(!!CPU_ISSET(cpu_b, &b[i].after), b[i].count == 2);
    }
    cr_assert_eq(b[5].status, RONDO_ERR_SYSTEM);
    cr_assert_str_eq(b[5].message, "binding a thread to CPU 8000: Invalid argument");
    cr_assert_eq(CPU_COUNT(&b[5].after), have_b ? 2 : 1, "a failed call binds nothing");
}

Test(topology, summary)
{
    struct rd_topology_summary one, two;
    cr_assert_eq(rd_topology_read(&one), RONDO_OK);
    cr_assert_eq(rd_topology_read(&two), RONDO_OK);
    cr_assert_geq(one.packages, 1u);
    cr_assert_geq(one.cores, one.packages);
    cr_assert_geq(one.cpus, one.cores);
    cr_assert_geq(one.cpus, rd_cpus_allowed());
    cr_assert_gt(one.memory_bytes, 1u << 20);
    cr_assert_eq(one.packages, two.packages);
    cr_assert_eq(one.cores, two.cores);
    cr_assert_eq(one.cpus, two.cpus);
    cr_assert_eq(one.memory_bytes, two.memory_bytes);
}
