/* SPDX-License-Identifier: BSD-3-Clause */
/* Running this program again, alone or under another. */
#include "bench/child.h"

#include "bench/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *child_self(void)
{
    static char path[4096];
    if (!path[0]) {
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
    }
    return path;
}

pid_t child_start(char *const argv[], int *output, int quiet)
{
    pid_t child = -1;
    int ends[2] = { -1, -1 };
    posix_spawn_file_actions_t actions;
    if (output && pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (output)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    /* A child inherits the CPUs of the thread that starts it. */
    machine_unpin();
    if (posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) != 0)
        child = -1;
    machine_pin(0);
    posix_spawn_file_actions_destroy(&actions);
    if (output) {
        close(ends[1]);
        if (child < 0)
            close(ends[0]);
        else
            *output = ends[0];
    }
    return child;
}

int child_wait(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int child_read(char *const argv[], char *text, unsigned bytes)
{
    int output;
    char lost[512];
    unsigned length = 0;
    pid_t child = child_start(argv, &output, 0);
    if (child < 0)
        return -1;
    for (;;) {
        int full = length + 1 >= bytes;
        ssize_t got = full ? read(output, lost, sizeof lost)
                           : read(output, text + length, bytes - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (!full)
            length += (unsigned)got;
    }
    text[length] = 0;
    close(output);
    return child_wait(child);
}

/* ---- strace */

/* The sum at the end of strace's table: share, seconds, microseconds per call, calls; -1: none. */
static double total_calls(const char *path)
{
    char line[256];
    double calls = -1, count;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "total") && sscanf(line, "%*f %*f %*f %lf", &count) == 1)
            calls = count;
    if (file)
        fclose(file);
    return calls;
}

double child_system_calls(const char *const arguments[])
{
    enum { MOST = 32 };
    char path[] = "/tmp/rondo-bench-XXXXXX", text[4096];
    char *argv[MOST] = { "strace", "-f", "-c", "-o", path, (char *)child_self() };
    unsigned count = 6;
    int file = mkstemp(path);
    if (file < 0)
        return -1;
    close(file);
    while (*arguments && count + 1 < MOST)
        argv[count++] = (char *)*arguments++;
    int code = child_read(argv, text, sizeof text);
    double calls = code == 0 ? total_calls(path) : -1;
    unlink(path);
    return calls;
}
