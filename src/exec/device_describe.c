/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exec says of its nodes on devices. */
#include "src/exec/device.h"

#include <stdarg.h>
#include <stdio.h>

void rd_exec_devices_count(const struct rd_exec *x, rondo_exec_counts *c)
{
    const struct rd_exec_devices *d = x->devices;
    if (!d)
        return;
    c->device_nodes = d->plan->members;
    c->segments = d->plan->segments;
    c->copies = d->residency->routes;
    for (uint32_t from = 0; from < d->residency->memories; from++)
        for (uint32_t to = 0; to < d->residency->memories; to++)
            c->moved_bytes += d->residency->moved_bytes[from][to];
    for (uint32_t i = 0; i < d->places; i++) {
        const struct rd_device *device = d->place[i].queue.device;
        if (!i || device->backend != d->place[i - 1].queue.device->backend)
            c->driver_calls += device->ops->calls(device->backend);
    }
}

struct page {
    void (*write)(void *context, const char *text);
    void *context;
};

static void line(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void line(const struct page *page, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page->write(page->context, text);
}

static void describe_segment(const struct rd_exec *x, const struct page *page, uint32_t segment)
{
    const struct rd_segment_plan *plan = &x->devices->plan->segment[segment];
    const struct rd_segment_run *r = &x->devices->run[segment];
    char how[128] = "";
    r->queue->device->ops->segment_describe(r->segment, how, sizeof how);
    line(page, "    %s: %u nodes; %s\n", rd_program_name(&x->program, plan->submit), plan->count,
         how);
}

static void name_memory(uint32_t memory, char *text, size_t bytes)
{
    if (memory)
        snprintf(text, bytes, "gpu %u", memory - 1);
    else
        snprintf(text, bytes, "host");
}

static void describe_memory(const struct rd_exec *x, const struct page *page)
{
    const struct rd_residency *r = x->devices->residency;
    char a[16], b[16];
    for (uint32_t m = 1; m < r->memories; m++)
        if (r->peak_bytes[m])
            line(page, "  memory of gpu %u: %llu bytes at most, %llu of them shared by places\n",
                 m - 1, (unsigned long long)r->peak_bytes[m],
                 (unsigned long long)r->arena_bytes[m]);
    line(page, "  copies added: %u, evictions: %u; bytes moved per replay:", r->routes,
         r->evictions);
    for (uint32_t from = 0; from < r->memories; from++)
        for (uint32_t to = 0; to < r->memories; to++) {
            if (!r->moved_bytes[from][to])
                continue;
            name_memory(from, a, sizeof a);
            name_memory(to, b, sizeof b);
            line(page, " %s to %s %llu", a, b, (unsigned long long)r->moved_bytes[from][to]);
        }
    line(page, "\n");
}

void rd_exec_devices_describe(const struct rd_exec *x,
                              void (*write)(void *context, const char *text), void *context)
{
    const struct rd_exec_devices *d = x->devices;
    const struct page page = { write, context };
    rondo_exec_counts c = { 0 };
    if (!d)
        return;
    rd_exec_devices_count(x, &c);
    line(&page, "devices: %llu nodes in %llu segments, driver calls so far: %llu\n",
         (unsigned long long)c.device_nodes, (unsigned long long)c.segments,
         (unsigned long long)c.driver_calls);
    for (uint32_t i = 0; i < d->places; i++) {
        const struct rd_device *device = d->place[i].queue.device;
        line(&page, "  gpu %u '%s'%s\n", device->number, device->hardware.name,
             rd_load_relaxed(&device->lost) ? ", lost" : "");
        for (uint32_t s = 0; s < d->plan->segments; s++)
            if (d->plan->segment[s].device == device->number)
                describe_segment(x, &page, s);
    }
    describe_memory(x, &page);
}
