/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exec says of its nodes on devices. */
#include "src/exec/device.h"
#include "src/exec/page.h"

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

static void describe_segment(const struct rd_exec *x, const struct rd_page *page, uint32_t segment)
{
    const struct rd_segment_plan *plan = &x->devices->plan->segment[segment];
    const struct rd_segment_run *r = &x->devices->run[segment];
    char how[128] = "";
    r->queue->device->ops->segment_describe(r->segment, how, sizeof how);
    rd_page_line(page, "    %s: %u nodes; %s\n", rd_program_name(&x->program, plan->submit),
                 plan->count, how);
}

static void memory_name(uint32_t memory, char text[16])
{
    if (memory)
        snprintf(text, 16, "gpu %u", memory - 1);
    else
        snprintf(text, 16, "host");
}

/* What the recording says of a replay, nodes that a condition may keep from running included. */
static void describe_moves(const struct rd_residency *r, const struct rd_page *page)
{
    char source[16], target[16];
    if (!r->routes)
        rd_page_line(page, "  nothing moves\n");
    for (uint32_t from = 0; from < r->memories; from++)
        for (uint32_t to = 0; to < r->memories; to++) {
            if (!r->moved_bytes[from][to])
                continue;
            memory_name(from, source);
            memory_name(to, target);
            rd_page_line(page, "  %s -> %s: %llu bytes a replay\n", source, target,
                         (unsigned long long)r->moved_bytes[from][to]);
        }
    if (r->evictions)
        rd_page_line(page, "  places given up for others: %u a replay\n", r->evictions);
}

static void describe_memory(const struct rd_residency *r, const struct rd_page *page,
                            uint32_t device)
{
    rd_page_line(page, "    bytes there: %llu at most, %llu of them in places\n",
                 (unsigned long long)r->peak_bytes[1 + device],
                 (unsigned long long)r->arena_bytes[1 + device]);
}

void rd_exec_devices_describe(const struct rd_exec *x, const struct rd_page *page)
{
    const struct rd_exec_devices *d = x->devices;
    rondo_exec_counts c = { 0 };
    if (!d)
        return;
    rd_exec_devices_count(x, &c);
    rd_page_line(
        page,
        "devices: %llu nodes in %llu segments, %llu of them copies that were added; driver "
        "calls so far: %llu\n",
        (unsigned long long)c.device_nodes, (unsigned long long)c.segments,
        (unsigned long long)c.copies, (unsigned long long)c.driver_calls);
    describe_moves(d->residency, page);
    for (uint32_t i = 0; i < d->places; i++) {
        const struct rd_device *device = d->place[i].queue.device;
        rd_page_line(page, "  gpu %u '%s'%s\n", device->number, device->hardware.name,
                     rd_load_relaxed(&device->lost) ? ", lost" : "");
        describe_memory(d->residency, page, device->number);
        for (uint32_t s = 0; s < d->plan->segments; s++)
            if (d->plan->segment[s].device == device->number)
                describe_segment(x, page, s);
    }
}
