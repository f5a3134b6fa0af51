/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices a list names, how much of their memory may be taken, and progress. */
#include "src/machine/runtime.h"
#include "tests/device/opencl_rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <rondo/rondo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists. These need no device. */

static void refused(const char *list, const char *what)
{
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    rig_allocator(&a);
    cr_expect_eq(rd_devices_open(&a, list, 0, &d), RONDO_ERR_INVALID, "'%s' is taken", list);
    cr_expect_null(d);
    cr_expect_not_null(strstr(rd_error_text(), what), "'%s': %s", list, rd_error_text());
    cr_expect_eq(rd_load_relaxed(&a.bytes), 0, "'%s'", list);
}

Test(devices, lists_that_cannot_be_read)
{
    char longer[800] = "opencl:0";
    refused("", "an empty entry");
    refused("opencl,", "an empty entry");
    refused(",opencl", "an empty entry");
    refused("openc", "no such backend: 'openc'");
    refused("opencl2", "no such backend");
    refused("none,opencl:0", "no such backend: 'none'");
    refused("all,opencl:0", "no such backend: 'all'");
    refused("opencl:", "no device's number");
    refused("opencl:x", "no device's number");
    refused("opencl:0/", "no device's number");
    refused("opencl:0/0", "no device's number");
    refused("opencl:0/17", "no device's number");
    refused("opencl:0 ", "no device's number");
    refused("opencl:-1", "no device's number");
    refused("opencl,opencl:0", "named already");
    refused("opencl:0,opencl", "named already");
    refused("opencl,opencl", "named already");
    for (int i = 0; i < 16; i++)
        strcat(longer, ",opencl:1");
    refused(longer, "more than 16");
    refused("opencl:000000000000000000000000000000000000000000000000000000000000000000000000000000"
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
            "0000000000000000000000000000",
            "too long");
}

Test(devices, none_is_none)
{
    struct rd_allocator a;
    struct rd_devices *d = (void *)1;
    rig_allocator(&a);
    cr_assert_eq(rd_devices_open(&a, NULL, 0, &d), RONDO_OK);
    cr_expect_null(d);
    d = (void *)1;
    cr_assert_eq(rd_devices_open(&a, "none", 0, &d), RONDO_OK);
    cr_expect_null(d);
    cr_expect_eq(rd_load_relaxed(&a.calls), 0);
}

/* What there is, or none, and no error. */
Test(devices, all_is_what_there_is)
{
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    rig_allocator(&a);
    cr_assert_eq(rd_devices_open(&a, "all", 0, &d), RONDO_OK, "%s", rd_error_text());
    rd_devices_close(d);
    cr_expect_eq(rd_load_relaxed(&a.bytes), 0);
}

/* ---- drivers. What is loaded stays so for the process: each of these has its own. */

Test(devices, without_a_driver_the_message_says_what_to_install)
{
    setenv("OCL_ICD_VENDORS", "/nowhere", 1);
    refused("opencl", "Debian package");
    refused("opencl:0", "Debian package");
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    rig_allocator(&a);
    cr_expect_eq(rd_devices_open(&a, "all", 0, &d), RONDO_OK, "%s", rd_error_text());
    rd_devices_close(d);
}

/* PoCL alone has this variable, and such devices. */
static int pocl_with(const char *devices)
{
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    setenv("POCL_DEVICES", devices, 1);
    rig_allocator(&a);
    if (rd_devices_open(&a, "opencl", 0, &d) && strstr(rd_error_text(), "Debian package"))
        return 0;
    int pocl = !d || !strncmp(d->device[0].hardware.name, "pthread", 7);
    rd_devices_close(d);
    return pocl;
}

Test(devices, one_that_cannot_be_used_says_why)
{
    if (!pocl_with("basic"))
        cr_skip_test("the driver is not PoCL");
    refused("opencl:0", "does not tell when work has ended");
    refused("opencl", "none of 1 devices can be used: PoCL's 'basic' device");
}

Test(devices, two_of_one_platform_are_peers)
{
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    if (!pocl_with("pthread pthread"))
        cr_skip_test("the driver is not PoCL");
    rig_allocator(&a);
    cr_assert_eq(rd_devices_open(&a, "opencl:1,opencl:0/1", 0, &d), RONDO_OK, "%s",
                 rd_error_text());
    cr_assert_eq(d->count, 2);
    cr_expect_eq(d->backends, 1);
    cr_expect(rd_devices_peers(d, 0, 1));
    cr_expect(d->device[0].number == 0 && d->device[1].number == 1);
    rd_devices_close(d);
    cr_expect_eq(rd_load_relaxed(&a.bytes), 0);
}

/* ---- with devices */

static struct rd_devices *opened(struct rd_allocator *a, const char *list, uint64_t bytes)
{
    struct rd_devices *d = NULL;
    rig_need();
    rig_allocator(a);
    cr_assert_eq(rd_devices_open(a, list, bytes, &d), RONDO_OK, "%s", rd_error_text());
    cr_assert_not_null(d);
    return d;
}

static void closed(struct rd_allocator *a, struct rd_devices *d)
{
    rd_devices_close(d);
    cr_expect_eq(rd_load_relaxed(&a->bytes), 0);
}

Test(devices, by_number)
{
    struct rd_allocator a;
    struct rd_devices *d = opened(&a, "opencl:0", 0);
    cr_expect_eq(d->count, 1);
    cr_expect_eq(d->device[0].number, 0);
    cr_expect_str_eq(d->device[0].ops->name, "opencl");
    cr_expect_eq(d->device[0].limit,
                 d->device[0].hardware.memory_bytes - d->device[0].hardware.memory_bytes / 10);
    closed(&a, d);
    refused("opencl:63", "there is no device 63");
    refused("opencl:0,opencl:0", "device 0 is named twice");
    refused("opencl:0/16,opencl:0", "compute units");
}

Test(devices, a_device_in_two_parts)
{
    struct rd_allocator a;
    struct rd_devices *d = opened(&a, "opencl:0", 0);
    struct rd_hardware whole = d->device[0].hardware;
    void *memory[2];
    char here[64], there[64];
    closed(&a, d);
    if (whole.units < 2) {
        refused("opencl:0/2", "compute units");
        cr_skip_test("the device has one compute unit");
    }
    d = opened(&a, "opencl:0/2", 1 << 20);
    cr_assert_eq(d->count, 2);
    cr_expect_eq(d->device[0].hardware.units + d->device[1].hardware.units, whole.units);
    cr_expect_not_null(strstr(d->device[1].hardware.name, "part 2 of 2"));
    cr_expect(rd_devices_peers(d, 0, 1) && rd_devices_peers(d, 1, 0) && rd_devices_peers(d, 1, 1));
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(rd_device_allocate(&d->device[i], 64, &memory[i]), RONDO_OK);
    for (int i = 0; i < 64; i++)
        here[i] = (char)(i * 3);
    const struct rd_box_move box = { .row = 64, .rows = 1, .planes = 1 };
    const struct rd_device_copy in = { memory[0], here, box }, over = { memory[1], memory[0], box },
                                out = { there, memory[1], box };
    const struct rd_backend_ops *ops = d->device[0].ops;
    cr_assert_eq(ops->copy(d->device[0].backend, 0, &in), RONDO_OK);
    cr_assert_eq(ops->copy(d->device[0].backend, 1, &over), RONDO_OK);
    cr_assert_eq(ops->copy(d->device[0].backend, 1, &out), RONDO_OK);
    cr_expect_arr_eq(there, here, 64);
    for (uint32_t i = 0; i < 2; i++)
        rd_device_release(&d->device[i], memory[i], 64);
    closed(&a, d);
}

Test(devices, memory_is_taken_within_the_limit)
{
    struct rd_allocator a;
    struct rd_devices *d = opened(&a, "opencl:0", 10000);
    struct rd_device *g = &d->device[0];
    void *first, *second = NULL, *third;
    cr_expect_eq(g->limit, 10000);
    cr_assert_eq(rd_device_allocate(g, 6000, &first), RONDO_OK);
    cr_assert_eq(rd_device_allocate(g, 4500, &second), RONDO_ERR_MEMORY);
    cr_expect_null(second);
    static const char *const told[] = { "device 0", "4500 bytes wanted", "6000 of its 10000",
                                        "500 are missing" };
    for (size_t i = 0; i < 4; i++)
        cr_expect_not_null(strstr(rd_error_text(), told[i]), "%s: %s", told[i], rd_error_text());
    cr_assert_eq(rd_device_allocate(g, SIZE_MAX, &second), RONDO_ERR_MEMORY);
    cr_assert_eq(rd_device_allocate(g, 4000, &third), RONDO_OK);
    rd_device_release(g, first, 6000);
    cr_assert_eq(rd_device_allocate(g, 6000, &second), RONDO_OK);
    rd_device_release(g, second, 6000);
    rd_device_release(g, third, 4000);
    cr_expect_eq(rd_load_relaxed(&g->used), 0);
    closed(&a, d);
    d = opened(&a, "opencl:0", UINT64_MAX);
    cr_expect_eq(d->device[0].limit, d->device[0].hardware.memory_bytes);
    closed(&a, d);
}

/* ---- a runtime's */

Test(devices, a_runtime_opens_what_it_is_told)
{
    rondo_runtime rt;
    uint32_t count = 99;
    rondo_device_info info;
    rig_need();
    setenv("RONDO_DEVICES", "opencl:63", 1);
    cr_expect_eq(rondo_runtime_open(NULL, &rt), RONDO_ERR_INVALID);
    cr_expect_not_null(strstr(rondo_error_message(), "no device 63"), "%s", rondo_error_message());
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .devices = "none" }, &rt), RONDO_OK);
    cr_expect(rondo_runtime_devices(rt, &count) == RONDO_OK && count == 0);
    cr_expect_eq(rondo_runtime_device(rt, RONDO_GPU(0), &info), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    setenv("RONDO_DEVICES", "opencl:0", 1);
    setenv("RONDO_DEVICE_BYTES", "123456", 1);
    cr_assert_eq(rondo_runtime_open(NULL, &rt), RONDO_OK, "%s", rondo_error_message());
    cr_expect(rondo_runtime_devices(rt, &count) == RONDO_OK && count == 1);
    cr_assert_eq(rondo_runtime_device(rt, RONDO_GPU(0), &info), RONDO_OK);
    cr_expect(*info.name && info.units >= 1 && !info.used_bytes && !info.lost);
    cr_expect_str_eq(info.backend, "opencl");
    cr_expect_eq(info.limit_bytes, 123456);
    info.limit_bytes = 77; /* an older program's struct ends before it */
    cr_assert_eq(rondo_runtime_device_sized(rt, RONDO_GPU(0), &info,
                                            offsetof(rondo_device_info, limit_bytes)),
                 RONDO_OK);
    cr_expect_eq(info.limit_bytes, 77);
    cr_expect_eq(rondo_runtime_device(rt, RONDO_GPU(1), &info), RONDO_ERR_INVALID);
    cr_expect_eq(rondo_runtime_device(rt, RONDO_CPU(0), &info), RONDO_ERR_INVALID);
    cr_expect_eq(rondo_runtime_device(rt, RONDO_GPU(0), NULL), RONDO_ERR_INVALID);
    cr_expect_eq(rondo_runtime_devices(rt, NULL), RONDO_ERR_INVALID);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
    cr_expect_eq(rondo_runtime_devices(rt, &count), RONDO_ERR_STALE);
}

static int is_open_to_signals(const char *thread)
{
    char path[300], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *status = fopen(path, "r");
    if (!status)
        return 0; /* it has ended */
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
            break;
    fclose(status);
    return !(blocked >> (SIGUSR1 - 1) & 1);
}

/* Of all threads of the process, how many do not block SIGUSR1. */
static int open_to_signals(int *threads)
{
    int open = 0;
    DIR *tasks = opendir("/proc/self/task");
    cr_assert_not_null(tasks);
    *threads = 0;
    for (struct dirent *e; (e = readdir(tasks));)
        if (e->d_name[0] != '.') {
            ++*threads;
            open += is_open_to_signals(e->d_name);
        }
    closedir(tasks);
    return open;
}

Test(devices, threads_of_the_driver_block_signals)
{
    struct rd_allocator a;
    struct rd_devices *d = NULL;
    int few, many, before = open_to_signals(&few);
    rig_allocator(&a);
    if (rd_devices_open(&a, "opencl", 0, &d)) /* not rig_need, which opens without the block */
        rig_need();
    cr_expect_eq(open_to_signals(&many), before);
    cr_expect_gt(many, few, "the driver has started no thread");
    closed(&a, d);
}

/* ---- progress */

enum { RAISERS = 4, RAISES = 20000 };

struct raiser {
    struct rd_progress *p;
    uint64_t first;
};

static void *raise_all(void *context)
{
    const struct raiser *r = context;
    for (uint64_t i = r->first; i <= RAISES; i += RAISERS)
        rd_progress_reach(r->p, i);
    return NULL;
}

Test(devices, progress_goes_to_the_greatest_of_what_threads_raise)
{
    struct rd_progress p;
    pthread_t thread[RAISERS];
    struct raiser r[RAISERS];
    rig_progress(&p);
    for (uint64_t i = 0; i < RAISERS; i++) {
        r[i] = (struct raiser){ &p, 1 + i };
        cr_assert_eq(pthread_create(&thread[i], NULL, raise_all, &r[i]), 0);
    }
    rig_await(&p, RAISES);
    for (uint64_t i = 0; i < RAISERS; i++)
        pthread_join(thread[i], NULL);
    cr_expect_eq(rd_load_acquire(&p.source->done), RAISES);
    rd_progress_reach(&p, 5);
    cr_expect_eq(rd_load_acquire(&p.source->done), RAISES);
    rig_progress_end(&p);
}

Test(devices, progress_that_failed_stays_so_for_the_first_reason)
{
    struct rd_progress p;
    rig_progress(&p);
    rd_progress_reach(&p, 3);
    rd_progress_fail(&p, "the first");
    rd_progress_fail(&p, "the second");
    rd_progress_reach(&p, 4);
    cr_expect_eq(rd_load_acquire(&p.failed), 1);
    cr_expect_str_eq(p.why, "the first");
    cr_expect_eq(rd_load_acquire(&p.source->done), RD_PROGRESS_LOST);
    rig_progress_end(&p);
}
