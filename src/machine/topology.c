/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads CPU lists against the affinity mask, and is the only file that includes hwloc. */
#include "src/machine/topology.h"

#include "src/base/error.h"
#include "src/machine/quota.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Linux numbers at most 8,192 CPUs; the entries of a list are fewer. */
enum { MASK_CPUS = 8192, MAX_ENTRIES = 4096, SHOWN = 80 };

struct mask {
    unsigned long word[MASK_CPUS / (8 * sizeof(unsigned long))];
};

static int mask_has(const struct mask *m, uint32_t cpu)
{
    const uint32_t bits = 8 * sizeof(unsigned long);
    return cpu < MASK_CPUS && (m->word[cpu / bits] >> cpu % bits & 1);
}

static rondo_status mask_read(const char *what, struct mask *m)
{
    memset(m, 0, sizeof *m);
    if (sched_getaffinity(0, sizeof *m, (cpu_set_t *)(void *)m))
        return rd_error(RONDO_ERR_SYSTEM, "%s: reading the affinity mask: %s", what,
                        strerror(errno));
    return RONDO_OK;
}

/* Writes the mask as a list, cut to fit. */
static void mask_text(const struct mask *m, char *text, size_t bytes)
{
    size_t used = 0;
    uint32_t first = 0, last;
    text[0] = 0;
    for (; first < MASK_CPUS; first = last + 1) {
        int more;
        last = first;
        if (!mask_has(m, first))
            continue;
        while (mask_has(m, last + 1))
            last++;
        if (used + 24 > bytes) {
            snprintf(text + used, bytes - used, ",...");
            return;
        }
        more = first == last
                   ? snprintf(text + used, bytes - used, "%s%u", used ? "," : "", first)
                   : snprintf(text + used, bytes - used, "%s%u-%u", used ? "," : "", first, last);
        used += (size_t)more;
    }
}

/* ---- the machine */

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
/* Set once, kept until the process ends: loading takes milliseconds, and threads may be binding
 * themselves at any time. */
static rd_atomic(hwloc_topology_t) topology;

static int load(hwloc_topology_t *loaded)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t))
        return 0;
    /* hwloc's x86 component would move the calling thread from CPU to CPU; Linux tells as much. */
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    /* Of all kinds only these are asked for; CPUs and memory are always there. */
    hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(t)) {
        hwloc_topology_destroy(t);
        return 0;
    }
    *loaded = t;
    return 1;
}

static rondo_status get_topology(hwloc_topology_t *out)
{
    rondo_status status = RONDO_OK;
    hwloc_topology_t t = rd_load_acquire(&topology); /* pairs with the release below */
    if (!t) {
        pthread_mutex_lock(&loading);
        t = rd_load_relaxed(&topology); /* written under the lock */
        if (!t && load(&t))
            rd_store_release(&topology, t); /* what was loaded before where it is */
        else if (!t)
            status =
                rd_error(RONDO_ERR_SYSTEM, "hwloc cannot read the machine: %s", strerror(errno));
        pthread_mutex_unlock(&loading);
    }
    *out = t;
    return status;
}

/* ---- lists */

struct reader {
    const char *what, *list, *at;
    const char *whose; /* the mask, in words */
    struct mask mask;
    uint32_t *cpu; /* NULL: only check and count */
    uint32_t count;
};

static unsigned place(const struct reader *r, const char *at)
{
    return (unsigned)(at - r->list) + 1;
}

#define REFUSE(r, format, ...)                                                         \
    rd_error(RONDO_ERR_INVALID, "%s \"%.*s%s\": " format, (r)->what, SHOWN, (r)->list, \
             strlen((r)->list) > SHOWN ? "..." : "", __VA_ARGS__)

static rondo_status read_number(struct reader *r, uint32_t *number)
{
    uint64_t value = 0;
    if (*r->at < '0' || *r->at > '9')
        return REFUSE(r, "character %u: a CPU number is expected", place(r, r->at));
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        value = value * 10 + (uint64_t)(*r->at - '0');
        if (value > UINT32_MAX)
            value = UINT32_MAX; /* no such CPU either */
    }
    *number = (uint32_t)value;
    return RONDO_OK;
}

static rondo_status add_cpu(struct reader *r, uint32_t cpu, const char *at)
{
    char allowed[SHOWN];
    if (!mask_has(&r->mask, cpu)) {
        mask_text(&r->mask, allowed, sizeof allowed);
        return REFUSE(r, "character %u: CPU %u is not in %s %s", place(r, at), cpu, r->whose,
                      allowed);
    }
    if (r->count == MAX_ENTRIES)
        return REFUSE(r, "character %u: more than %d entries", place(r, at), MAX_ENTRIES);
    if (r->cpu)
        r->cpu[r->count] = cpu;
    r->count++;
    return RONDO_OK;
}

/* One number or range. */
static rondo_status read_entry(struct reader *r)
{
    const char *begin = r->at;
    uint32_t first, last;
    rondo_status status = read_number(r, &first);
    last = first;
    if (!status && *r->at == '-') {
        r->at++;
        status = read_number(r, &last);
    }
    if (!status && last < first)
        status =
            REFUSE(r, "character %u: the range %u-%u is reversed", place(r, begin), first, last);
    for (uint64_t cpu = first; !status && cpu <= last; cpu++)
        status = add_cpu(r, (uint32_t)cpu, begin);
    return status;
}

static rondo_status read_list(struct reader *r)
{
    rondo_status status;
    r->at = r->list;
    r->count = 0;
    if (!*r->list)
        return REFUSE(r, "%s", "the list is empty");
    for (;;) {
        status = read_entry(r);
        if (status || !*r->at)
            return status;
        if (*r->at != ',')
            return REFUSE(r, "character %u: ',' is expected, not '%c'", place(r, r->at), *r->at);
        r->at++;
    }
}

static rondo_status read_mask(struct reader *r)
{
    uint32_t cpu;
    r->count = 0;
    for (cpu = 0; cpu < MASK_CPUS; cpu++)
        if (mask_has(&r->mask, cpu)) {
            if (r->cpu)
                r->cpu[r->count] = cpu;
            r->count++;
        }
    return RONDO_OK;
}

rondo_status rd_cpus_parse(struct rd_allocator *a, const char *what, const char *list,
                           struct rd_cpus *out)
{
    rondo_status (*const read)(struct reader *) = list ? read_list : read_mask;
    struct reader r = { .what = what, .list = list, .whose = "the caller's affinity mask" };
    hwloc_topology_t t;
    rondo_status status = mask_read(what, &r.mask);
    /* Once to check and count, once to fill: nothing has to be taken back. */
    if (!status)
        status = read(&r);
    /* A list is read to bind threads to it. Loaded here, the topology is loaded by the thread that
     * opens a runtime and not by its workers: a failure has someone to tell, and the libraries that
     * hwloc's plugins bring along are initialised where they are torn down. */
    if (!status)
        status = get_topology(&t);
    if (status)
        return status;
    r.cpu = rd_alloc_array(a, r.count, sizeof *r.cpu);
    if (!r.cpu)
        return rd_error(RONDO_ERR_MEMORY, "%s: no memory for %u CPU numbers", what, r.count);
    read(&r);
    out->cpu = r.cpu;
    out->count = r.count;
    return RONDO_OK;
}

/* The place in `have` of each CPU of the list: the n-th time it is named, its n-th place. */
static rondo_status find_places(struct reader *r, const uint32_t *have, uint32_t have_count)
{
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t cpu = r->cpu[i], before = 0, at;
        for (at = 0; at < i; at++)
            before += have[r->cpu[at]] == cpu;
        for (at = 0; at < have_count; at++)
            if (have[at] == cpu && !before--)
                break;
        if (at == have_count)
            return rd_error(RONDO_ERR_INVALID, "%s \"%s\": CPU %u is named more often than in %s",
                            r->what, r->list, cpu, r->whose);
        r->cpu[i] = at;
    }
    return RONDO_OK;
}

rondo_status rd_cpus_places(struct rd_allocator *a, const char *what, const char *list,
                            const char *whose, const uint32_t *have, uint32_t have_count,
                            uint32_t **places, uint32_t *count)
{
    const uint32_t bits = 8 * sizeof(unsigned long);
    struct reader r = { .what = what, .list = list, .whose = whose };
    rondo_status status;
    for (uint32_t i = 0; i < have_count; i++)
        r.mask.word[have[i] / bits] |= 1ul << have[i] % bits;
    status = read_list(&r);
    if (status)
        return status;
    r.cpu = rd_alloc_array(a, r.count, sizeof *r.cpu);
    if (!r.cpu)
        return rd_error(RONDO_ERR_MEMORY, "%s: no memory for %u CPU numbers", what, r.count);
    read_list(&r);
    status = find_places(&r, have, have_count);
    if (status) {
        rd_free_array(a, r.cpu, r.count, sizeof *r.cpu);
        return status;
    }
    *places = r.cpu;
    *count = r.count;
    return RONDO_OK;
}

void rd_cpus_free(struct rd_allocator *a, struct rd_cpus *c)
{
    rd_free_array(a, c->cpu, c->count, sizeof *c->cpu);
    c->cpu = NULL;
    c->count = 0;
}

uint32_t rd_cpus_allowed(void)
{
    struct reader r = { .what = "CPUs" };
    uint32_t quota = rd_quota_cpus("");
    if (mask_read(r.what, &r.mask))
        return 1;
    read_mask(&r);
    r.count = r.count < quota ? r.count : quota;
    return r.count ? r.count : 1;
}

/* ---- binding, and the machine in numbers */

rondo_status rd_thread_bind(const uint32_t *cpu, uint32_t count)
{
    hwloc_topology_t t;
    hwloc_bitmap_t set;
    uint32_t i;
    rondo_status status = get_topology(&t);
    if (status)
        return status;
    RD_ASSERT(count > 0);
    set = hwloc_bitmap_alloc();
    if (!set)
        return rd_error(RONDO_ERR_MEMORY, "no memory for a set of %u CPUs", count);
    for (i = 0; i < count && !status; i++)
        if (hwloc_bitmap_set(set, cpu[i]))
            status = rd_error(RONDO_ERR_MEMORY, "no memory for a set of CPUs with %u", cpu[i]);
    if (!status && hwloc_set_cpubind(t, set, HWLOC_CPUBIND_THREAD))
        status = rd_error(RONDO_ERR_SYSTEM, "binding a thread to CPU %u%s: %s", cpu[0],
                          count > 1 ? " and others" : "", strerror(errno));
    hwloc_bitmap_free(set);
    return status;
}

static uint32_t count_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(t, type);
    return count > 0 ? (uint32_t)count : 1; /* some virtual machines show none */
}

rondo_status rd_topology_read(struct rd_topology_summary *out)
{
    hwloc_topology_t t;
    rondo_status status = get_topology(&t);
    if (status)
        return status;
    out->packages = count_of(t, HWLOC_OBJ_PACKAGE);
    out->cores = count_of(t, HWLOC_OBJ_CORE);
    out->cpus = count_of(t, HWLOC_OBJ_PU);
    out->memory_bytes = hwloc_get_root_obj(t)->total_memory;
    return RONDO_OK;
}
