/* SPDX-License-Identifier: BSD-3-Clause */
/* Two rates: blocks of sound are captured one by one by a thread of the program's own, at fixed
 * times, and every four of them are analysed together by a worker. The two loops are two execs that
 * know of each other through two counters only:
 *
 *   filled   how many blocks were captured: the analysis of window n waits for 4 * (n + 1)
 *   freed    up to which block the ring may be written: capture n waits for n + 1
 *
 * cpu 0 is adopted: the program's thread is its worker while it drives it, so a capture begins
 * without waking anybody. The checksums are compared with the plain loop's. */
#define _POSIX_C_SOURCE 200809L
#include <rondo/rondo.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RING = 16, BLOCK = 64, WINDOWS = 500, CAPTURES = 4 * WINDOWS, PERIOD_NS = 100000 };

static float blocks[RING][BLOCK];
static double spectrum[WINDOWS];

static float sample(uint64_t block, int i) { return (float)((block * 31 + (uint64_t)i * 7) % 101); }

static int capture(rondo_task *self, const void *arg)
{
    float *out = rondo_task_write(self, 0);
    (void)arg;
    for (int i = 0; i < BLOCK; i++)
        out[i] = sample(self->replay, i);
    return 0;
}

static int analyse(rondo_task *self, const void *arg)
{
    const float *in = rondo_task_read(self, 0);
    double sum = 0;
    (void)arg;
    for (int i = 0; i < 4 * BLOCK; i++)
        sum += (double)in[i] * (1 + i % 3);
    spectrum[self->replay] = sum;
    return 0;
}

struct rates {
    rondo_runtime runtime;
    rondo_counter filled, freed;
    rondo_buffer one[RING], four[RING / 4]; /* the same memory in two cuts */
    rondo_subgraph capturing, analysing;
    rondo_exec capture, analyse;
};

static rondo_status make_buffers(struct rates *r)
{
    rondo_status status = RONDO_OK;
    for (int i = 0; i < RING && !status; i++)
        status = rondo_buffer_create(
            r->runtime,
            &(rondo_buffer_desc){ .shape = { sizeof(float), { BLOCK }, { 0 } }, .host = blocks[i] },
            &r->one[i]);
    for (int i = 0; i < RING / 4 && !status; i++)
        status = rondo_buffer_create(
            r->runtime,
            &(rondo_buffer_desc){ .shape = { sizeof(float), { 4 * BLOCK }, { 0 } },
                                  .host = blocks[4 * i] },
            &r->four[i]);
    return status;
}

static void record_capturing(struct rates *r, rondo_processor on)
{
    rondo_subgraph g = r->capturing;
    rondo_slot out = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .name = "block", .ring = r->one, .ring_count = RING });
    rondo_node n = rondo_record_wait(
        g, &(rondo_sync_desc){ .name = "space", .counter = r->freed, .first = 1, .step = 1 });
    n = rondo_record_task(g, &(rondo_task_desc){ .name = "capture",
                                                 .fn = capture,
                                                 .on = on,
                                                 RONDO_AFTER(n),
                                                 RONDO_ACCESSES(rondo_write(out, rondo_whole())) });
    rondo_record_signal(
        g, &(rondo_sync_desc){
               .name = "filled", .counter = r->filled, .first = 1, .step = 1, RONDO_AFTER(n) });
}

static void record_analysing(struct rates *r, rondo_processor on)
{
    rondo_subgraph g = r->analysing;
    rondo_slot in = rondo_subgraph_slot(
        g, &(rondo_slot_desc){ .name = "window", .ring = r->four, .ring_count = RING / 4 });
    rondo_node n = rondo_record_wait(
        g, &(rondo_sync_desc){ .name = "window", .counter = r->filled, .first = 4, .step = 4 });
    n = rondo_record_task(g, &(rondo_task_desc){ .name = "analyse",
                                                 .fn = analyse,
                                                 .on = on,
                                                 RONDO_AFTER(n),
                                                 RONDO_ACCESSES(rondo_read(in, rondo_whole())) });
    rondo_record_signal(
        g,
        &(rondo_sync_desc){
            .name = "freed", .counter = r->freed, .first = RING + 4, .step = 4, RONDO_AFTER(n) });
}

static rondo_status make(struct rates *r)
{
    rondo_runtime_options machine = { .adopt = 1 };
    uint32_t processors = 0;
    rondo_status status = rondo_runtime_open(&machine, &r->runtime);
    if (!status)
        status = rondo_runtime_processors(r->runtime, &processors);
    if (!status && processors < 2) { /* one CPU: a second worker on it */
        rondo_runtime_close(r->runtime);
        machine.cpus = "0,0";
        status = rondo_runtime_open(&machine, &r->runtime);
    }
    if (status || (status = rondo_counter_create(r->runtime, 0, &r->filled)) ||
        (status = rondo_counter_create(r->runtime, RING, &r->freed)) ||
        (status = make_buffers(r)) ||
        (status = rondo_subgraph_create(r->runtime, &(rondo_subgraph_desc){ .name = "capturing" },
                                        &r->capturing)) ||
        (status = rondo_subgraph_create(r->runtime, &(rondo_subgraph_desc){ .name = "analysing" },
                                        &r->analysing)))
        return status;
    record_capturing(r, RONDO_CPU(0));
    record_analysing(r, RONDO_CPU(1));
    status = rondo_instantiate(
        r->capturing, &(rondo_instantiate_options){ .window = 1, .priority = 10 }, &r->capture);
    return status ? status : rondo_instantiate(r->analysing, NULL, &r->analyse);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The program's own loop: a capture at each of its times, run by this very thread. */
static rondo_status capture_all(struct rates *r)
{
    int64_t time = now_ns() + 1000000;
    rondo_event captured;
    rondo_status status;
    for (int i = 0; i < CAPTURES; i++, time += PERIOD_NS) {
        rondo_replay_args at = { .not_before_ns = time, .flags = RONDO_NO_WAIT };
        while ((status = rondo_replay(r->capture, &at, &captured)) == RONDO_ERR_AGAIN)
            ; /* the capture before has ended, its frame is about to be free */
        if (status)
            return status;
        while ((status = rondo_processor_drive(r->runtime, RONDO_CPU(0), captured, 10000000)) ==
               RONDO_ERR_AGAIN)
            ;
        if (status)
            return status;
    }
    return RONDO_OK;
}

static int check(void)
{
    int wrong = 0;
    for (int w = 0; w < WINDOWS; w++) {
        double sum = 0;
        for (int i = 0; i < 4 * BLOCK; i++)
            sum += (double)sample((uint64_t)(4 * w + i / BLOCK), i % BLOCK) * (1 + i % 3);
        wrong += sum != spectrum[w];
    }
    return wrong;
}

int main(void)
{
    struct rates r;
    rondo_event analysed;
    rondo_result result;
    rondo_status status;
    memset(&r, 0, sizeof r);
    status = make(&r);
    if (!status)
        status = rondo_replay(r.analyse, &(rondo_replay_args){ .count = WINDOWS }, &analysed);
    if (!status)
        status = capture_all(&r);
    if (!status)
        status = rondo_event_wait(analysed, -1);
    if (!status)
        status = rondo_event_result(analysed, &result);
    if (status || result.status) {
        fprintf(stderr, "rates: %s\n", rondo_error_message());
        return 1;
    }
    printf("rates: %d blocks captured every %d us, %llu windows analysed, %d of them wrong\n",
           CAPTURES, PERIOD_NS / 1000, (unsigned long long)result.replays_run, check());
    return rondo_runtime_close(r.runtime) || check();
}
