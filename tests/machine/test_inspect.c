/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program can ask about the machine, the backends and the environment. */
#include "src/base/env.h"
#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first two CPUs of this process; the same one twice where it has one. */
static void two_cpus(uint32_t *cpu)
{
    cpu_set_t set;
    uint32_t found = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    for (uint32_t i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET(i, &set))
            cpu[found++] = i;
    cr_assert_gt(found, 0u);
    if (found == 1)
        cpu[1] = cpu[0];
}

static rondo_runtime open_on(const char *cpus)
{
    rondo_runtime rt;
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = cpus }, &rt), RONDO_OK, "%s",
                 rondo_error_message());
    return rt;
}

Test(inspect, processors_have_the_cpus_of_the_list)
{
    uint32_t cpu[2], found;
    char list[64];
    two_cpus(cpu);
    snprintf(list, sizeof list, "%u,%u,%u", cpu[1], cpu[0], cpu[1]);
    rondo_runtime rt = open_on(list);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(rondo_processor_cpu(rt, RONDO_CPU(i), &found), RONDO_OK);
        cr_expect_eq(found, cpu[i % 2 == 0], "processor %u: CPU %u", i, found);
    }
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

Test(inspect, the_machine_fits_the_runtime)
{
    rondo_machine m;
    uint32_t cpu[2];
    char list[64];
    two_cpus(cpu);
    unsetenv("RONDO_HANDOVER_NS");
    snprintf(list, sizeof list, "%u,%u", cpu[0], cpu[0]);
    rondo_runtime rt = open_on(list);
    cr_assert_eq(rondo_runtime_machine(rt, &m), RONDO_OK, "%s", rondo_error_message());
    cr_expect(m.packages >= 1 && m.cores >= m.packages && m.cpus >= m.cores, "%u %u %u", m.packages,
              m.cores, m.cpus);
    cr_expect(m.allowed >= 1 && m.allowed <= m.cpus, "%u of %u", m.allowed, m.cpus);
    cr_expect_eq(m.processors, 2);
    cr_expect_eq(m.handover_ns, 0, "one CPU hands nothing over");
    cr_expect_gt(m.memory_bytes, 1u << 20);
    setenv("RONDO_HANDOVER_NS", "12345", 1);
    cr_assert_eq(rondo_runtime_machine(rt, &m), RONDO_OK);
    cr_expect_eq(m.handover_ns, 12345);
    unsetenv("RONDO_HANDOVER_NS");
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    if (cpu[0] != cpu[1]) {
        rt = open_on(NULL);
        cr_assert_eq(rondo_runtime_machine(rt, &m), RONDO_OK);
        cr_expect(m.handover_ns <= 800, "%u", m.handover_ns); /* 0: the CPUs were too busy */
        cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    }
    cr_assert_eq(rondo_runtime_machine(rt, &m), RONDO_ERR_STALE);
}

/* A program built against a header that knew only the first fields. */
Test(inspect, an_older_machine_is_filled_as_far_as_it_goes)
{
    rondo_machine m = { .handover_ns = 99 };
    rondo_runtime rt = open_on(NULL);
    cr_assert_eq(rondo_runtime_machine_sized(rt, &m, offsetof(rondo_machine, allowed)), RONDO_OK);
    cr_expect(m.cpus >= 1);
    cr_expect(m.allowed == 0 && m.handover_ns == 99);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static void see_backend(void *context, const rondo_backend *backend)
{
    int *found = context;
    cr_expect(*backend->name && *backend->what);
    if (!strcmp(backend->name, "cpu"))
        *found += !backend->why;
    else if (!strcmp(backend->name, "opencl"))
        *found += 10 * (!backend->why || *backend->why);
    else
        *found += 100 * (backend->why && *backend->why);
}

Test(inspect, what_is_no_backend_says_why)
{
    int found = 0;
    rondo_backends(see_backend, &found);
    cr_expect_eq(found, 311);
}

struct variables {
    int count, set;
};

static void see_variable(void *context, const rondo_variable *variable)
{
    struct variables *v = context;
    cr_expect_str_eq(variable->name, rd_env_table[v->count].name);
    cr_expect(*variable->by_default && *variable->range && *variable->help);
    if (!strcmp(variable->name, "RONDO_STALL_S"))
        v->set = variable->value && !strcmp(variable->value, "17");
    if (!strcmp(variable->name, "RONDO_SHUFFLE"))
        cr_expect_null(variable->value);
    v->count++;
}

Test(inspect, variables_come_with_their_present_value)
{
    struct variables v = { 0 };
    setenv("RONDO_STALL_S", "17", 1);
    setenv("RONDO_SHUFFLE", "", 1);
    rondo_environment(see_variable, &v);
    cr_expect_eq(v.count, RD_ENV_COUNT);
    cr_expect(v.set);
    unsetenv("RONDO_STALL_S");
    unsetenv("RONDO_SHUFFLE");
}
