/* SPDX-License-Identifier: BSD-3-Clause */
#include "ways.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t ways_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int ways_number(const char *program, const char *option, const char *text, int64_t least,
                int64_t most, int64_t *number)
{
    int64_t n = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && n <= most; c++)
        n = n * 10 + (*c - '0');
    if (c != text && !*c && n >= least && n <= most) {
        *number = n;
        return 0;
    }
    fprintf(stderr, "%s: %s: '%s' is not a number from %" PRId64 " to %" PRId64 "\n", program,
            option, text, least, most);
    return -1;
}

char *ways_cpu_list(uint32_t count)
{
    cpu_set_t allowed;
    size_t room = (size_t)count * 8 + 1, used = 0;
    char *list = calloc(room, 1);
    if (!list || sched_getaffinity(0, sizeof allowed, &allowed)) {
        free(list);
        return NULL;
    }
    for (size_t cpu = 0; count; cpu = (cpu + 1) % CPU_SETSIZE)
        if (CPU_ISSET(cpu, &allowed)) {
            used += (size_t)snprintf(list + used, room - used, used ? ",%zu" : "%zu", cpu);
            count--;
        }
    return list;
}

/* ---- measuring */

static void progress(const char *name, int turn, int turns)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%*s\r", 60, "");
    if (name)
        fprintf(stderr, "%.40s %d/%d", name, turn + 1, turns);
    fflush(stderr);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int run_once(struct way *way, int turn)
{
    if (way->reset && way->reset(way->context))
        return -1;
    int64_t begin = ways_now_ns();
    int status = way->run(way->context);
    way->ns[turn] = ways_now_ns() - begin;
    return status || (way->check && way->check(way->context)) ? -1 : 0;
}

int ways_run(const char *program, struct way *ways, int count, int turns)
{
    int failed = 0;
    for (int i = 0; i < count; i++)
        if (!(ways[i].ns = calloc((size_t)turns, sizeof *ways[i].ns))) {
            fprintf(stderr, "%s: out of memory\n", program);
            return -1;
        }
    for (int turn = 0; turn < turns && !failed; turn++)
        for (int i = 0; i < count && !failed; i++) {
            progress(ways[i].name, turn, turns);
            failed = run_once(&ways[i], turn);
        }
    progress(NULL, 0, 0);
    for (int i = 0; i < count && !failed; i++)
        qsort(ways[i].ns, (size_t)turns, sizeof *ways[i].ns, compare);
    return failed;
}

void ways_print_rate(const struct way *ways, int count, int turns, int64_t units, const char *unit,
                     int against, double work, const char *rate)
{
    int width = 0;
    for (int i = 0; i < count; i++)
        if ((int)strlen(ways[i].name) > width)
            width = (int)strlen(ways[i].name);
    printf("%-*s  %12s  %12s  %8s", width, "", "min us", "median us", "speed-up");
    if (rate)
        printf("  %9s", rate);
    putchar('\n');
    for (int i = 0; i < count; i++) {
        double least = (double)ways[i].ns[0], median = (double)ways[i].ns[turns / 2];
        printf("%-*s  %12.2f  %12.2f  %8.2f", width, ways[i].name, least / 1e3 / (double)units,
               median / 1e3 / (double)units, (double)ways[against].ns[0] / least);
        if (rate)
            printf("  %9.2f", work * (double)units * 1e9 / least);
        putchar('\n');
    }
    printf("per %s, of %d turns; speed-up against: %s\n", unit, turns, ways[against].name);
}

void ways_print(const struct way *ways, int count, int turns, int64_t units, const char *unit,
                int against)
{
    ways_print_rate(ways, count, turns, units, unit, against, 0, NULL);
}

void ways_free(struct way *ways, int count)
{
    for (int i = 0; i < count; i++)
        free(ways[i].ns);
}
