/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU quotas of cgroups, read from directory trees made for the test. */
#include "src/machine/quota.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    snprintf(root, sizeof root, "/tmp/rondo-quota-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s, (void)type, (void)where;
    return remove(path);
}

static void remove_root(void) { nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

/* Writes root/path, making the directories on the way. */
static void put(const char *path, const char *text)
{
    char full[512], *slash;
    FILE *file;
    snprintf(full, sizeof full, "%s%s", root, path);
    for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    file = fopen(full, "w");
    cr_assert_not_null(file, "%s", full);
    fputs(text, file);
    fclose(file);
}

struct file {
    const char *path, *text;
};

static const struct {
    const char *what;
    uint32_t cpus;
    struct file file[6];
} cases[] = {
    { "nothing there", UINT32_MAX, { { NULL, NULL } } },
    { "version 2, half a CPU",
      1,
      { { "/proc/self/cgroup", "0::/app\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n" },
        { "/cg/app/cpu.max", "50000 100000\n" } } },
    { "version 2, rounded up",
      3,
      { { "/proc/self/cgroup", "0::/app\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw shared:4 - cgroup2 cgroup2 rw\n" },
        { "/cg/app/cpu.max", "200001 100000\n" } } },
    { "version 2, exact",
      2,
      { { "/proc/self/cgroup", "0::/app\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n" },
        { "/cg/app/cpu.max", "200000 100000\n" } } },
    { "version 2, no limit",
      UINT32_MAX,
      { { "/proc/self/cgroup", "0::/app\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n" },
        { "/cg/app/cpu.max", "max 100000\n" } } },
    { "version 2, an ancestor's is less",
      4,
      { { "/proc/self/cgroup", "0::/a/b/c\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n" },
        { "/cg/a/b/c/cpu.max", "max 100000\n" },
        { "/cg/a/cpu.max", "400000 100000\n" },
        { "/cg/a/b/cpu.max", "800000 100000\n" } } },
    { "version 2, in a namespace of its own",
      2,
      { { "/proc/self/cgroup", "0::/\n" },
        { "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n" },
        { "/cg/cpu.max", "150000 100000\n" } } },
    { "version 1, beside other controllers",
      2,
      { { "/proc/self/cgroup", "9:cpuset:/x\n4:cpu,cpuacct:/docker/1\n0::/y\n" },
        { "/proc/self/mountinfo", "31 30 0:27 / /cpuset rw - cgroup cgroup rw,cpuset\n"
                                  "32 30 0:28 / /cpu rw - cgroup cgroup rw,cpu,cpuacct\n" },
        { "/cpu/docker/1/cpu.cfs_quota_us", "120000\n" },
        { "/cpu/docker/1/cpu.cfs_period_us", "100000\n" },
        { "/cpuset/x/cpu.cfs_quota_us", "1\n" } } },
    { "version 1, the container's own group is mounted",
      5,
      { { "/proc/self/cgroup", "4:cpu:/docker/1/sub\n" },
        { "/proc/self/mountinfo", "32 30 0:28 /docker/1 /cpu ro - cgroup cgroup rw,cpu\n" },
        { "/cpu/sub/cpu.cfs_quota_us", "-1\n" },
        { "/cpu/sub/cpu.cfs_period_us", "100000\n" },
        { "/cpu/cpu.cfs_quota_us", "500000\n" },
        { "/cpu/cpu.cfs_period_us", "100000\n" } } },
    { "version 1, the mount does not show the own group",
      6,
      { { "/proc/self/cgroup", "4:cpu:/elsewhere\n" },
        { "/proc/self/mountinfo", "32 30 0:28 /docker/1 /cpu ro - cgroup cgroup rw,cpu\n" },
        { "/cpu/cpu.cfs_quota_us", "600000\n" },
        { "/cpu/cpu.cfs_period_us", "100000\n" } } },
    { "both versions: the lesser",
      3,
      { { "/proc/self/cgroup", "4:cpu:/\n0::/app\n" },
        { "/proc/self/mountinfo", "32 30 0:28 / /cpu rw - cgroup cgroup rw,cpu\n"
                                  "33 30 0:29 / /cg rw - cgroup2 cgroup2 rw\n" },
        { "/cpu/cpu.cfs_quota_us", "700000\n" },
        { "/cpu/cpu.cfs_period_us", "100000\n" },
        { "/cg/app/cpu.max", "300000 100000\n" } } },
    { "nonsense is no limit",
      UINT32_MAX,
      { { "/proc/self/cgroup", "0:\nxyz\n0::/app\n" },
        { "/proc/self/mountinfo", "what is this\n30 - cgroup2\n1 2 3 / /cg rw - cgroup2 x y\n" },
        { "/cg/app/cpu.max", "many 0\n" } } },
};

Test(quota, trees, .init = make_root, .fini = remove_root)
{
    size_t i, k;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t cpus;
        for (k = 0; k < 6 && cases[i].file[k].path; k++)
            put(cases[i].file[k].path, cases[i].file[k].text);
        cpus = rd_quota_cpus(root);
        cr_expect_eq(cpus, cases[i].cpus, "%s: %u", cases[i].what, cpus);
        remove_root();
        cr_assert_eq(mkdir(root, 0777), 0);
    }
}

/* Mounts of stacked file systems have lines of any length before the one that matters. */
Test(quota, long_lines, .init = make_root, .fini = remove_root)
{
    enum { LONG = 100000 };
    static const char end[] = "\n30 23 0:26 / /cg rw - cgroup2 cgroup2 rw";
    char *text = malloc(LONG + sizeof end);
    size_t bytes;
    cr_assert_not_null(text);
    put("/proc/self/cgroup", "0::/app\n");
    put("/cg/app/cpu.max", "900000 100000\n");
    /* Around the size of a reader's buffer a line may be cut anywhere. */
    for (bytes = 8100; bytes <= LONG; bytes = bytes < 8300 ? bytes + 1 : bytes * 11) {
        memset(text, 'x', bytes);
        memcpy(text + bytes, end, sizeof end);
        put("/proc/self/mountinfo", text);
        cr_assert_eq(rd_quota_cpus(root), 9u, "after a line of %zu bytes", bytes);
    }
    free(text);
}

Test(quota, here) { cr_assert_geq(rd_quota_cpus(""), 1u); }
