/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices a runtime opens, and how much of their memory it may take. */
#include "src/device/devices.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES = 256, BACKENDS_MAX = 8 };

/* One backend's part of the list. */
struct chosen {
    const struct rd_backend_ops *ops;
    char which[LIST_BYTES]; /* what its open is given */
    int whole;              /* it was named without numbers */
    uint32_t opened;        /* where in rd_devices.backend */
    uint32_t next;          /* device of it that comes next in the list */
};

/* One entry of the list. */
struct item {
    uint32_t chosen, count; /* of devices; 0: all */
};

struct selection {
    uint32_t backends, items;
    struct chosen backend[BACKENDS_MAX];
    struct item item[RD_DEVICES_MAX];
    int optional; /* "all": what cannot be opened is left out */
};

/* ---- reading the list */

static rondo_status bad(const char *list, const char *what, const char *entry, size_t length)
{
    return rd_error(RONDO_ERR_INVALID, "devices '%s': %s: '%.*s'", list, what, (int)length, entry);
}

static rondo_status find_backend(struct selection *s, const char *list, const char *name,
                                 size_t length, uint32_t *chosen)
{
    uint32_t i;
    for (i = 0; i < s->backends; i++)
        if (strlen(s->backend[i].ops->name) == length &&
            !strncmp(s->backend[i].ops->name, name, length))
            break;
    *chosen = i;
    if (i < s->backends)
        return RONDO_OK;
    for (const struct rd_backend_ops *const *b = rd_backends; *b; b++)
        if (strlen((*b)->name) == length && !strncmp((*b)->name, name, length)) {
            s->backend[s->backends++].ops = *b;
            return RONDO_OK;
        }
    return bad(list, "no such backend", name, length);
}

/* "3" or "3/2": how many devices that is. */
static int count_devices(const char *text, size_t length, uint32_t *count)
{
    char *end;
    unsigned long parts = 1;
    if (*text < '0' || *text > '9')
        return 0;
    strtoul(text, &end, 10);
    if (*end == '/' && end[1] >= '0' && end[1] <= '9')
        parts = strtoul(end + 1, &end, 10);
    if (end != text + length || parts < 1 || parts > RD_DEVICES_MAX)
        return 0;
    *count = (uint32_t)parts;
    return 1;
}

static rondo_status read_item(struct selection *s, const char *list, const char *entry,
                              size_t length)
{
    const char *colon = memchr(entry, ':', length);
    size_t name = colon ? (size_t)(colon - entry) : length, rest = length - name, used;
    struct item *item = &s->item[s->items];
    struct chosen *c;
    rondo_status status;
    if (s->items == RD_DEVICES_MAX)
        return rd_error(RONDO_ERR_INVALID, "devices '%s': more than %d entries", list,
                        RD_DEVICES_MAX);
    status = find_backend(s, list, entry, name, &item->chosen);
    if (status)
        return status;
    c = &s->backend[item->chosen];
    used = strlen(c->which);
    if (c->whole || (!colon && used))
        return bad(list, "all devices of the backend were named already", entry, length);
    s->items++;
    c->whole = !colon;
    if (!colon)
        return RONDO_OK;
    if (!count_devices(colon + 1, rest - 1, &item->count))
        return bad(list, "no device's number, or number/parts with 1 to 16 parts", entry, length);
    if (used + rest >= sizeof c->which)
        return bad(list, "the list is too long at", entry, length);
    snprintf(c->which + used, sizeof c->which - used, "%s%.*s", used ? "," : "", (int)rest - 1,
             colon + 1);
    return RONDO_OK;
}

static rondo_status read_selection(struct selection *s, const char *list)
{
    const char *entry = list, *end;
    rondo_status status = RONDO_OK;
    memset(s, 0, sizeof *s);
    if (!strcmp(list, "all")) {
        s->optional = 1;
        for (const struct rd_backend_ops *const *b = rd_backends; *b && !status; b++)
            status = read_item(s, (*b)->name, (*b)->name, strlen((*b)->name));
        return status;
    }
    for (; !status; entry = end + 1) {
        end = entry + strcspn(entry, ",");
        status = end == entry ? bad(list, "an empty entry at", entry, strlen(entry))
                              : read_item(s, list, entry, (size_t)(end - entry));
        if (!*end)
            break;
    }
    return status;
}

/* ---- opening */

/* A driver starts threads, which inherit the mask: none of them is to run a handler of the
 * program's. */
static rondo_status open_quietly(const struct chosen *c, struct rd_allocator *a,
                                 struct rd_backend **backend)
{
    sigset_t most, old;
    rondo_status status;
    sigfillset(&most);
    sigdelset(&most, SIGSEGV); /* a fault that is blocked ends the process, handler or not */
    sigdelset(&most, SIGBUS);
    sigdelset(&most, SIGFPE);
    sigdelset(&most, SIGILL);
    pthread_sigmask(SIG_BLOCK, &most, &old);
    status = c->ops->open(a, c->which, backend);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return status;
}

static rondo_status open_backends(struct selection *s, struct rd_devices *d)
{
    for (uint32_t i = 0; i < s->backends; i++) {
        struct chosen *c = &s->backend[i];
        struct rd_backend *b;
        rondo_status status = open_quietly(c, d->alloc, &b);
        c->opened = BACKENDS_MAX;
        if (status == RONDO_ERR_INVALID && s->optional)
            continue;
        if (status)
            return status;
        c->opened = d->backends;
        d->ops[d->backends] = c->ops;
        d->backend[d->backends++] = b;
    }
    return RONDO_OK;
}

static uint64_t limit_of(uint64_t memory, uint64_t bytes)
{
    if (!bytes)
        return memory - memory / 10;
    return bytes < memory ? bytes : memory;
}

static rondo_status add_item(struct selection *s, const struct item *item, uint64_t bytes,
                             struct rd_devices *d)
{
    struct chosen *c = &s->backend[item->chosen];
    uint32_t end;
    if (c->opened == BACKENDS_MAX)
        return RONDO_OK;
    end = item->count ? c->next + item->count : c->ops->devices(d->backend[c->opened]);
    for (; c->next < end; c->next++) {
        struct rd_device *device = &d->device[d->count];
        if (d->count == RD_DEVICES_MAX)
            return rd_error(RONDO_ERR_INVALID, "devices: there are more than %d", RD_DEVICES_MAX);
        device->ops = c->ops;
        device->backend = d->backend[c->opened];
        device->number = d->count++;
        device->index = c->next;
        device->ops->hardware(device->backend, device->index, &device->hardware);
        device->limit = limit_of(device->hardware.memory_bytes, bytes);
    }
    return RONDO_OK;
}

rondo_status rd_devices_open(struct rd_allocator *a, const char *which, uint64_t bytes,
                             struct rd_devices **devices)
{
    struct selection s;
    struct rd_devices *d;
    rondo_status status;
    *devices = NULL;
    if (!which || !strcmp(which, "none"))
        return RONDO_OK;
    status = read_selection(&s, which);
    if (status)
        return status;
    d = rd_zalloc(a, sizeof *d, _Alignof(struct rd_devices));
    if (!d)
        return rd_error(RONDO_ERR_MEMORY, "devices: no memory");
    d->alloc = a;
    status = open_backends(&s, d);
    for (uint32_t i = 0; i < s.items && !status; i++)
        status = add_item(&s, &s.item[i], bytes, d);
    if (status || !d->count)
        rd_devices_close(d);
    else
        *devices = d;
    return status;
}

void rd_devices_close(struct rd_devices *d)
{
    if (!d)
        return;
    while (d->backends) {
        d->backends--;
        d->ops[d->backends]->close(d->backend[d->backends]);
    }
    rd_free(d->alloc, d, sizeof *d);
}

/* ---- memory */

rondo_status rd_device_allocate(struct rd_device *d, size_t bytes, void **memory)
{
    uint64_t used = rd_load_relaxed(&d->used);
    rondo_status status;
    do
        if (bytes > d->limit || used > d->limit - bytes)
            return rd_error(RONDO_ERR_MEMORY,
                            "device %u (%s): %zu bytes wanted, %" PRIu64 " of its %" PRIu64
                            " are taken: %" PRIu64 " are missing",
                            d->number, d->hardware.name, bytes, used, d->limit,
                            used + bytes - d->limit);
    while (!rd_cas_relaxed(&d->used, &used, used + bytes)); /* a count, orders nothing */
    status = d->ops->allocate(d->backend, d->index, bytes, memory);
    if (status)
        rd_sub_relaxed(&d->used, bytes);
    return status;
}

void rd_device_release(struct rd_device *d, void *memory, size_t bytes)
{
    d->ops->release(d->backend, d->index, memory);
    rd_sub_relaxed(&d->used, bytes);
}

int rd_devices_peers(const struct rd_devices *d, uint32_t device, uint32_t other)
{
    const struct rd_device *a = &d->device[device], *b = &d->device[other];
    if (device == other)
        return 1;
    return a->backend == b->backend && a->ops->peers(a->backend, a->index, b->index);
}
