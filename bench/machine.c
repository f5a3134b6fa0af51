/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs this process may use, pinning, and the second thread that hand-written programs run on.
 */
#include "bench/machine.h"

#include "bench/support.h"
#include "bench/timing.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* ---- CPUs */

static cpu_set_t allowed;
static unsigned allowed_count;

__attribute__((constructor)) static void read_allowed(void)
{
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        CPU_SET(0, &allowed);
    allowed_count = (unsigned)CPU_COUNT(&allowed);
}

unsigned machine_cpus(void) { return allowed_count; }

int machine_cpu(unsigned i)
{
    unsigned left = i % allowed_count;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0)
            return (int)cpu;
    return 0;
}

void machine_pin(unsigned i)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)machine_cpu(i), &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        bench_die(BENCH_EXIT_FAILED, "cannot pin a thread to CPU %d", machine_cpu(i));
}

void machine_unpin(void) { pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed); }

/* ---- two threads at once */

static struct {
    pthread_once_t once;
    sem_t begin;
    void (*work)(void *context, unsigned me);
    void *context;
    _Alignas(BENCH_LINE) atomic_int ready;
    _Alignas(BENCH_LINE) atomic_int start;
    _Alignas(BENCH_LINE) atomic_int ended;
} pair = { .once = PTHREAD_ONCE_INIT };

static void spin_until(atomic_int *flag)
{
    while (!atomic_load_explicit(flag, memory_order_acquire))
        bench_pause();
}

static void *partner(void *unused)
{
    (void)unused;
    machine_pin(1);
    for (;;) {
        while (sem_wait(&pair.begin) != 0)
            ;
        atomic_store_explicit(&pair.ready, 1, memory_order_release);
        spin_until(&pair.start);
        pair.work(pair.context, 1);
        atomic_store_explicit(&pair.ended, 1, memory_order_release);
    }
    return NULL;
}

static void start_partner(void)
{
    pthread_t thread;
    if (sem_init(&pair.begin, 0, 0) != 0 || pthread_create(&thread, NULL, partner, NULL) != 0)
        bench_die(BENCH_EXIT_FAILED, "cannot start a second thread");
    pthread_detach(thread);
}

double machine_pair(void (*work)(void *context, unsigned me), void *context)
{
    pthread_once(&pair.once, start_partner);
    pair.work = work;
    pair.context = context;
    atomic_store(&pair.ready, 0);
    atomic_store(&pair.start, 0);
    atomic_store(&pair.ended, 0);
    sem_post(&pair.begin);
    spin_until(&pair.ready);
    double start = timing_ns();
    atomic_store_explicit(&pair.start, 1, memory_order_release);
    work(context, 0);
    spin_until(&pair.ended);
    return timing_ns() - start;
}

/* ---- how far apart */

enum { ROUND_TRIPS = 2000 };

struct ball {
    _Alignas(BENCH_LINE) _Atomic uint32_t value;
    _Alignas(BENCH_LINE) uint32_t round_trips;
};

static void play(void *context, unsigned me)
{
    struct ball *ball = context;
    for (uint32_t i = 0; i < ball->round_trips; i++) {
        uint32_t mine = 2 * i + (me ? 1 : 0);
        while (atomic_load_explicit(&ball->value, memory_order_acquire) != mine)
            ;
        atomic_store_explicit(&ball->value, mine + 1, memory_order_release);
    }
}

double machine_line_ns(uint32_t round_trips)
{
    struct ball ball = { .value = 0, .round_trips = round_trips };
    return machine_pair(play, &ball) / round_trips;
}

double machine_round_trip_ns(void)
{
    double best = 0;
    for (int round = 0; round < 9; round++) {
        double ns = machine_line_ns(ROUND_TRIPS);
        if (!round || ns < best)
            best = ns;
    }
    return best;
}

/* ---- its description */

void machine_describe(FILE *out, const char *prefix)
{
    char line[256], model[256] = "unknown";
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            char *text = strchr(line, ':') + 1;
            text += strspn(text, " \t");
            text[strcspn(text, "\n")] = 0;
            snprintf(model, sizeof model, "%s", text);
            break;
        }
    if (info)
        fclose(info);
    struct utsname name;
    char date[64] = "unknown";
    double load[1];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(out, "%sCPU: %s, %u usable; measured on %d and %d\n", prefix, model, machine_cpus(),
            machine_cpu(0), machine_cpu(1));
    if (uname(&name) == 0)
        fprintf(out, "%ssystem: %s %s %s\n", prefix, name.sysname, name.release, name.machine);
#ifdef __clang__
    fprintf(out, "%scompiler: clang %s\n", prefix, __clang_version__);
#else
    fprintf(out, "%scompiler: gcc %s\n", prefix, __VERSION__);
#endif
    fprintf(out, "%sdate: %s\n", prefix, date);
    if (getloadavg(load, 1) == 1)
        fprintf(out, "%sload of the machine at the start: %.2f\n", prefix, load[0]);
}
