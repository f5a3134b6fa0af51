/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds this process's cgroups and reads their CPU quota. A quota holds for all that is below it,
 * so every directory from the process's own up to the mount point counts (cgroups(7); the kernel's
 * admin-guide/cgroup-v2.rst, "cpu.max"; scheduler/sched-bwc.rst for version 1). */
#include "src/machine/quota.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 8192, PATH_BYTES = 4096 };

/* ---- lines of a file, without the heap */

struct lines {
    int fd;
    size_t have, at; /* bytes in `buffer`, and how many of them were given out */
    char buffer[LINE_BYTES];
};

/* The next line, its end cut off, or NULL. A line longer than the buffer is left out. */
static char *next_line(struct lines *l)
{
    for (int skip = 0;;) {
        char *line = l->buffer + l->at, *end = memchr(line, '\n', l->have - l->at);
        ssize_t got;
        if (end) {
            *end = 0;
            l->at = (size_t)(end + 1 - l->buffer);
            if (!skip)
                return line;
            skip = 0;
            continue;
        }
        if (l->at) {
            memmove(l->buffer, line, l->have - l->at);
            l->have -= l->at;
            l->at = 0;
        } else if (l->have == LINE_BYTES - 1) {
            l->have = 0;
            skip = 1;
        }
        got = read(l->fd, l->buffer + l->have, LINE_BYTES - 1 - l->have);
        if (got <= 0) {
            size_t left = l->have;
            l->buffer[left] = 0;
            l->have = 0;
            return left && !skip ? l->buffer : NULL;
        }
        l->have += (size_t)got;
    }
}

static int lines_open(struct lines *l, const char *root, const char *path)
{
    char full[PATH_BYTES];
    l->have = l->at = 0;
    if ((size_t)snprintf(full, sizeof full, "%s%s", root, path) >= sizeof full)
        return 0;
    l->fd = open(full, O_RDONLY | O_CLOEXEC);
    return l->fd >= 0;
}

/* ---- one directory */

/* The first line of directory/file; 0 when there is none. */
static int read_file(const char *directory, const char *file, char *text, size_t bytes)
{
    char path[PATH_BYTES + 32];
    ssize_t got;
    int fd;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = read(fd, text, bytes - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = 0;
    return 1;
}

static uint32_t whole_cpus(long long quota, long long period)
{
    long long cpus;
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    cpus = quota / period + (quota % period != 0);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

static uint32_t quota_of(const char *directory, int version)
{
    char text[64], *end;
    long long quota;
    if (version == 2) {
        if (!read_file(directory, "cpu.max", text, sizeof text))
            return UINT32_MAX;
        quota = strtoll(text, &end, 10); /* "max PERIOD": no number, 0, no quota */
        return whole_cpus(quota, strtoll(end, NULL, 10));
    }
    if (!read_file(directory, "cpu.cfs_quota_us", text, sizeof text))
        return UINT32_MAX;
    quota = strtoll(text, NULL, 10);
    if (!read_file(directory, "cpu.cfs_period_us", text, sizeof text))
        return UINT32_MAX;
    return whole_cpus(quota, strtoll(text, NULL, 10));
}

/* ---- where the process stands, and where that is mounted */

static int list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (list) {
        if (!strncmp(list, word, length) && (list[length] == ',' || !list[length]))
            return 1;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return 0;
}

/* The process's path in the hierarchy of a version that controls CPU time. Lines read
 * "number:controllers:path"; version 2's has number 0 and no controllers. */
static int own_path(const char *root, int version, char path[PATH_BYTES])
{
    struct lines l;
    char *line;
    int found = 0;
    if (!lines_open(&l, root, "/proc/self/cgroup"))
        return 0;
    while (!found && (line = next_line(&l))) {
        char *controllers = strchr(line, ':'),
             *own = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!own)
            continue;
        *own++ = 0;
        controllers++;
        found = version == 2 ? !*controllers : list_has(controllers, "cpu");
        if (found)
            snprintf(path, PATH_BYTES, "%s", own);
    }
    close(l.fd);
    return found;
}

/* Splits a line of mountinfo (proc(5)): the part of the hierarchy that is mounted, and where. */
static int is_mount(char *line, int version, char **from, char **point)
{
    char *save, *end = strstr(line, " - "), *type, *options;
    int field;
    if (!end)
        return 0;
    *end = 0;
    type = strtok_r(end + 3, " ", &save);
    strtok_r(NULL, " ", &save); /* the source */
    options = strtok_r(NULL, " ", &save);
    if (!type || strcmp(type, version == 2 ? "cgroup2" : "cgroup") ||
        (version == 1 && (!options || !list_has(options, "cpu"))))
        return 0;
    *from = *point = NULL;
    for (field = 0; field < 5; field++) {
        char *word = strtok_r(field ? NULL : line, " ", &save);
        if (field == 3)
            *from = word;
        else if (field == 4)
            *point = word;
    }
    return *from && *point;
}

static uint32_t least_of_mount(const char *root, const char *from, const char *point,
                               const char *own, int version)
{
    char directory[PATH_BYTES];
    size_t top = strlen(root) + strlen(point), prefix = strcmp(from, "/") ? strlen(from) : 0;
    uint32_t least = UINT32_MAX;
    /* In a container the mount may begin at the process's own group, or below where it stands. */
    if (strncmp(own, from, prefix) || (own[prefix] && own[prefix] != '/'))
        own = "";
    else
        own += prefix;
    if ((size_t)snprintf(directory, sizeof directory, "%s%s%s", root, point,
                         strcmp(own, "/") ? own : "") >= sizeof directory)
        return UINT32_MAX;
    for (;;) {
        uint32_t cpus = quota_of(directory, version);
        char *cut = strrchr(directory, '/');
        least = cpus < least ? cpus : least;
        if (!cut || (size_t)(cut - directory) < top)
            return least;
        *cut = 0;
    }
}

static uint32_t least_of_version(const char *root, int version)
{
    struct lines l;
    char own[PATH_BYTES], *line, *from, *point;
    uint32_t least = UINT32_MAX;
    if (!own_path(root, version, own) || !lines_open(&l, root, "/proc/self/mountinfo"))
        return UINT32_MAX;
    while ((line = next_line(&l))) {
        uint32_t cpus = UINT32_MAX;
        if (is_mount(line, version, &from, &point))
            cpus = least_of_mount(root, from, point, own, version);
        least = cpus < least ? cpus : least;
    }
    close(l.fd);
    return least;
}

uint32_t rd_quota_cpus(const char *root)
{
    uint32_t one = least_of_version(root, 1), two = least_of_version(root, 2);
    return one < two ? one : two;
}
