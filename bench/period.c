/* SPDX-License-Identifier: BSD-3-Clause */
/* `rondo-bench latency --period`: a graph of half the period on two processors, started at every
 * period, beside a loop written by hand for the same bodies. Nothing sleeps: Rondo never parks and
 * this program's two threads are its processors. Blocks of replays go by turns. How late a replay
 * begins is what its first node sees; how long it takes ends when this thread knows that it ended.
 */
#include "bench/period.h"

#include "bench/child.h"
#include "bench/machine.h"
#include "bench/peers/peer.h"
#include "bench/progress.h"
#include "bench/rondo_impl.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STEPS = 5, BLOCK = 500, WHO = 2, RONDO = 0, BY_HAND = 1 };

struct line {
    _Alignas(BENCH_LINE) _Atomic uint64_t value;
};

static struct {
    double began; /* when node 0 of the replay in flight began */
} seen;

struct period {
    double ns;
    unsigned workers;
    struct graph *graph;
    struct samples late[WHO], took[WHO];
    uint64_t missed[WHO];            /* periods that had gone by when the replay before had ended */
    long slept[WHO], preempted[WHO]; /* of the threads that run it, inside the blocks */
    double interrupts[WHO];          /* between CPUs, of the whole machine */
    /* Rondo */
    rondo_runtime runtime;
    void *built;
    rondo_counter blocks; /* so many have ended */
    uint64_t block;
    /* by hand */
    struct line go, done[2];
    uint64_t replay;
    /* the block under way */
    uint64_t count;
    int who;
    long switches[2][2]; /* of each thread: voluntary, involuntary */
};

/* The first node of a replay notes when it begins. */
static int body(rondo_task *self, const void *arg)
{
    if (*(const uint32_t *)arg == 0)
        seen.began = timing_ns();
    return body_spin(self, arg);
}

static void note(struct period *p, double planned)
{
    double now = timing_ns();
    samples_add(&p->late[p->who], seen.began - planned);
    samples_add(&p->took[p->who], now - seen.began);
}

/* When the next replay is to begin: a period after the one before, or at once where that has gone
 * by, so that what disturbs one replay does not count for all that follow. */
static double next_begin(struct period *p, double planned)
{
    double now = timing_ns();
    planned += p->ns;
    if (planned >= now)
        return planned;
    p->missed[p->who]++;
    return now;
}

/* ---- Rondo: both threads are its processors */

static void rondo_master(struct period *p)
{
    double planned = timing_ns();
    rondo_exec exec = rondo_impl_exec(p->built);
    for (uint64_t i = 0; i < p->count; i++) {
        rondo_event event;
        planned = next_begin(p, planned);
        rondo_replay_args args = { .not_before_ns = (int64_t)planned };
        rondo_must(rondo_replay(exec, &args, &event), "a replay");
        rondo_must(rondo_processor_drive(p->runtime, RONDO_CPU(0), event, -1), "driving cpu 0");
        note(p, planned);
    }
    rondo_must(rondo_counter_raise(p->blocks, p->block), "ending a block");
}

static void rondo_other(struct period *p)
{
    rondo_event end;
    rondo_must(rondo_counter_event(p->blocks, p->block, &end), "a counter's event");
    rondo_must(rondo_processor_drive(p->runtime, RONDO_CPU(1), end, -1), "driving cpu 1");
}

/* ---- by hand: each thread has its column, and waits for the other's step before the next */

static void wait_for(struct line *line, uint64_t value)
{
    while (atomic_load_explicit(&line->value, memory_order_acquire) < value)
        bench_pause();
}

static void by_hand_replay(struct period *p, unsigned me, uint64_t replay)
{
    const struct graph *g = p->graph;
    for (uint32_t s = 0; s < STEPS; s++) {
        if (s && p->workers > 1)
            wait_for(&p->done[1 - me], replay * STEPS + s);
        for (uint32_t k = me; k < 2; k += p->workers)
            body(NULL, &g->id[2 * s + k]);
        atomic_store_explicit(&p->done[me].value, replay * STEPS + s + 1, memory_order_release);
    }
}

static void by_hand_master(struct period *p)
{
    double planned = timing_ns();
    for (uint64_t r = p->replay; r < p->replay + p->count; r++) {
        planned = next_begin(p, planned);
        while (timing_ns() < planned)
            bench_pause();
        atomic_store_explicit(&p->go.value, r + 1, memory_order_release);
        by_hand_replay(p, 0, r);
        if (p->workers > 1)
            wait_for(&p->done[1], (r + 1) * STEPS);
        note(p, planned);
    }
}

static void by_hand_other(struct period *p)
{
    for (uint64_t r = p->replay; r < p->replay + p->count; r++) {
        wait_for(&p->go, r + 1);
        by_hand_replay(p, 1, r);
    }
}

/* ---- blocks */

/* Interrupts from CPU to CPU so far: to reschedule, and to call functions. */
static double interrupts(void)
{
    char line[1024];
    double sum = 0;
    FILE *file = fopen("/proc/interrupts", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *at = line + strspn(line, " ");
        if (strncmp(at, "RES:", 4) != 0 && strncmp(at, "CAL:", 4) != 0)
            continue;
        char *end = at += 4;
        for (double count = strtod(at, &end); end != at; count = strtod(at, &end)) {
            sum += count;
            at = end;
        }
    }
    if (file)
        fclose(file);
    return sum;
}

static void work(void *context, unsigned me)
{
    struct period *p = context;
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    if (p->who == RONDO && me == 0)
        rondo_master(p);
    else if (p->who == RONDO && p->workers > 1)
        rondo_other(p);
    else if (p->who == BY_HAND && me == 0)
        by_hand_master(p);
    else if (p->who == BY_HAND && p->workers > 1)
        by_hand_other(p);
    getrusage(RUSAGE_THREAD, &after);
    p->switches[me][0] = after.ru_nvcsw - before.ru_nvcsw;
    p->switches[me][1] = after.ru_nivcsw - before.ru_nivcsw;
}

static void run_block(struct period *p, int who, uint64_t count)
{
    p->who = who;
    p->count = count;
    p->block++;
    timing_settle();
    double before = interrupts();
    machine_pair(work, p);
    p->interrupts[who] += interrupts() - before;
    p->replay += who == BY_HAND ? count : 0;
    p->slept[who] += p->switches[0][0] + p->switches[1][0];
    p->preempted[who] += p->switches[0][1] + p->switches[1][1];
}

/* ---- from beginning to end */

static void open_period(struct period *p, double ns, unsigned workers)
{
    *p = (struct period){ .ns = ns, .workers = workers };
    struct body_spec spin = { BODY_SPIN, ns / 2 / (STEPS * (workers > 1 ? 1 : 2)) };
    struct setup setup = { .body = body, .workers = workers, .bind = workers > 1 };
    peer_rondo.close(); /* a runtime whose workers sleep would wake them once */
    p->graph = graph_make(GRAPH_STENCIL, 2, STEPS, workers);
    rondo_runtime_options options = { .park_after_ns = RONDO_NEVER, .adopt = workers };
    p->runtime = rondo_impl_open(options, workers);
    p->built = rondo_impl_build(p->runtime, p->graph, &setup);
    rondo_must(rondo_counter_create(p->runtime, 0, &p->blocks), "creating a counter");
    body_set(&spin);
}

static void close_period(struct period *p)
{
    peer_rondo.free(p->built);
    rondo_must(rondo_counter_destroy(p->blocks), "destroying a counter");
    rondo_must(rondo_runtime_close(p->runtime), "closing a runtime");
    graph_free(p->graph);
    for (int who = 0; who < WHO; who++) {
        samples_clear(&p->late[who]);
        samples_clear(&p->took[who]);
    }
    body_set_iterations(0);
}

static void measure(struct period *p, uint64_t replays, const int wanted[WHO])
{
    for (int who = 0; who < WHO; who++)
        if (wanted[who])
            run_block(p, who, 20);
    for (int who = 0; who < WHO; who++) {
        samples_clear(&p->late[who]);
        samples_clear(&p->took[who]);
        p->slept[who] = p->preempted[who] = 0;
        p->missed[who] = 0;
        p->interrupts[who] = 0;
    }
    for (uint64_t done = 0; done < replays; done += BLOCK) {
        uint64_t count = replays - done < BLOCK ? replays - done : BLOCK;
        progress_show("a replay every %.0f us: %llu of %llu", p->ns / 1e3, (unsigned long long)done,
                      (unsigned long long)replays);
        for (int who = 0; who < WHO; who++)
            if (wanted[who])
                run_block(p, who, count);
    }
    progress_show(NULL);
}

/* Beyond what starting and ending takes. -1: strace cannot run. */
static double system_calls(const struct period *p, uint64_t replays)
{
    char period[32], workers[8], number[24];
    double calls[2];
    snprintf(period, sizeof period, "%.0fns", p->ns);
    snprintf(workers, sizeof workers, "%u", p->workers);
    for (int many = 0; many < 2; many++) {
        snprintf(number, sizeof number, "%llu",
                 (unsigned long long)(BLOCK / 10 + (many ? replays : 0)));
        const char *const arguments[] = { "latency",   "--period", period,   "--workers", workers,
                                          "--replays", number,     "--impl", "rondo",     NULL };
        calls[many] = child_system_calls(arguments);
        if (calls[many] < 0)
            return -1;
    }
    return calls[1] > calls[0] ? calls[1] - calls[0] : 0;
}

static void add_rows(struct table *t, const struct period *p)
{
    static const char *const names[WHO] = { "rondo", "handwritten" };
    static const double shares[] = { 0.5, 0.99, 0.9999, 1 };
    for (int who = 0; who < WHO; who++) {
        if (!p->late[who].count)
            continue;
        table_cell(t, "%s", names[who]);
        table_cell(t, "%zu", p->late[who].count);
        table_cell(t, "%llu", (unsigned long long)p->missed[who]);
        for (unsigned i = 0; i < 4; i++)
            table_cell(t, "%.0f", samples_quantile(&p->late[who], shares[i]));
        for (unsigned i = 0; i < 4; i++)
            table_cell(t, "%.0f", samples_quantile(&p->took[who], shares[i]));
        table_cell(t, "%ld", p->slept[who]);
        table_cell(t, "%ld", p->preempted[who]);
        table_cell(t, "%.0f", p->interrupts[who]);
    }
}

static void print(const struct period *p, enum table_format format, FILE *out)
{
    struct table *t = table_make(
        "impl,replays,missed,late_p50_ns,late_p99_ns,late_p99.99_ns,late_max_ns,took_p50_ns,took_"
        "p99_ns,"
        "took_p99.99_ns,took_max_ns,voluntary_switches,involuntary_switches,interrupts_of_machine");
    if (format == TABLE_ALIGNED)
        fprintf(out,
                "a replay every %.0f us of %u nodes of %.1f us each on %u processor%s: %.0f us if "
                "nothing else took time\n\n",
                p->ns / 1e3, p->graph->nodes, p->ns / 2e3 / (STEPS * (p->workers > 1 ? 1 : 2)),
                p->workers, p->workers > 1 ? "s" : "", p->ns / 2e3);
    add_rows(t, p);
    table_write(t, format, out);
    table_free(t);
}

int period_print(const struct options *o)
{
    struct period p;
    int wanted[WHO] = { !o->impls, !o->impls };
    for (unsigned i = 0; i < o->impls; i++) {
        wanted[RONDO] |= o->impl[i] == &peer_rondo;
        wanted[BY_HAND] |= o->impl[i] == &peer_handwritten;
    }
    if (!wanted[RONDO] && !wanted[BY_HAND])
        bench_die(BENCH_EXIT_USAGE, "--impl: a period is for rondo and handwritten");
    open_period(&p, o->period_ns, o->workers == 1 ? 1 : 2);
    measure(&p, o->replays ? o->replays : 10000, wanted);
    print(&p, o->format, stdout);
    if (o->strace) {
        double calls = system_calls(&p, 2000);
        if (calls < 0)
            fputs("rondo-bench: strace cannot run\n", stderr);
        else
            printf("system calls of Rondo's in 2000 replays: %.0f\n", calls);
    }
    close_period(&p);
    return 0;
}

void period_add(struct report *report, uint64_t replays, enum table_format format, FILE *out)
{
    static const int both[WHO] = { 1, 1 };
    struct period p;
    open_period(&p, 1e5, 2);
    measure(&p, replays, both);
    print(&p, format, out);
    char *what[2] = {
        bench_text("a replay every 100 us, %llu times: voluntary context switches",
                   (unsigned long long)replays),
        bench_text("a replay every 100 us, 2000 times under strace: system calls per replay"),
    };
    double calls = system_calls(&p, 2000);
    report_most(report, "P12", what[0], (double)p.slept[RONDO], "", 0);
    if (calls >= 0)
        report_most(report, "P12", what[1], calls / 2000, "", 0.001);
    for (unsigned i = 0; i < 2; i++)
        free(what[i]);
    close_period(&p);
}
