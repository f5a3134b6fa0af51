/* SPDX-License-Identifier: BSD-3-Clause */
/* Page protection and its signal handler.
 *
 * Which pages. Those that hold nothing but watched bytes can be protected whatever they are. A page
 * that a range shares with other data is not protected where it may lie on a stack: the signal's
 * frame may need it. A touch of that other data opens the page for good.
 *
 * Safety. All that the handler reads lies on pages of its own: the table in pages mapped for it,
 * `guard` in pages that it fills. It calls nothing of the C library, whose own data may lie beside
 * a watched variable. `busy` is a lock between handlers, and between them and whoever changes the
 * table; who holds it touches no watched page. Everything else belongs to the holder of `taken`. A
 * fault of another thread that comes when the pages are open again, or are no longer known, is
 * repeated, and succeeds. */
#include "src/check/guard.h"

#include "src/base/atomic.h"
#include "src/base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE_MOST = 65536, EXCLUDED_MOST = 256 };
/* What a page is: the two modes of rd_guard_mark, and these. */
enum {
    PAGE_GUARDED = 4, /* can be protected */
    PAGE_OPENED = 8   /* was protected, and was touched */
};

/* Pages in a row that hold watched bytes. */
struct segment {
    uintptr_t begin, end;
    size_t page; /* its first page's index in `page` */
};

struct table {
    size_t bytes; /* of the mapping */
    size_t pages;
    uint32_t segments, ranges;
    struct segment *segment;
    struct rd_guard_range *range;
    uint8_t *page;
};

static struct {
    char before[PAGE_MOST]; /* so that no other variable shares a page with `s` */
    struct {
        rd_atomic32 busy;
        int armed;
        void *thread; /* whose touches count */
        size_t page_bytes;
        struct table *table;
        struct rd_guard_fault fault;
        uintptr_t excluded[EXCLUDED_MOST]; /* pages not to be protected again */
        uint32_t excluded_count;
        uint64_t changes;   /* how often pages were protected or opened */
        uintptr_t repeated; /* a fault that is not known, whose it was, and when */
        void *repeated_by;
        uint64_t repeated_at;
        struct sigaction before;
    } s;
    char after[PAGE_MOST];
} guard;

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static int installed; /* under `taken` */

/* Under a sanitizer, which puts its own handler before this one, pages that hold anything else are
 * left open: its variables may be among that. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHARED_PAGES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHARED_PAGES 0
#endif
#endif
#ifndef SHARED_PAGES
#define SHARED_PAGES 1
#endif

/* ---- what the handler may call. A sanitizer's code would read variables of its own, which may lie
 * on a page that is protected. */
#if defined(__has_attribute)
#if __has_attribute(no_sanitize)
#define IN_HANDLER __attribute__((no_sanitize("address", "undefined", "thread")))
#endif
#endif
#ifndef IN_HANDLER
#define IN_HANDLER
#endif

IN_HANDLER static void *this_thread(void) { return __builtin_thread_pointer(); }

IN_HANDLER static int protect(uintptr_t at, size_t bytes, int how)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_mprotect), "D"(at), "S"(bytes), "d"((long)how)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return mprotect((void *)at, bytes, how) == 0;
#endif
}

IN_HANDLER static void lock_table(void)
{
    uint32_t free = 0;
    while (!rd_cas_acquire(&guard.s.busy, &free, 1)) { /* pairs with unlock_table */
        free = 0;
        rd_pause();
    }
}
IN_HANDLER static void unlock_table(void) { rd_store_release(&guard.s.busy, 0); }

IN_HANDLER static struct segment *find_segment(uintptr_t at)
{
    struct table *t = guard.s.table;
    uint32_t low = 0, high = t ? t->segments : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->segment[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return t && low < t->segments && t->segment[low].begin <= at ? &t->segment[low] : NULL;
}

IN_HANDLER static uint8_t *page_of(uintptr_t at)
{
    struct segment *s = find_segment(at);
    return s ? &guard.s.table->page[s->page + (at - s->begin) / guard.s.page_bytes] : NULL;
}

IN_HANDLER static int is_element(const struct rd_guard_range *r, uintptr_t address)
{
    size_t at = address - (uintptr_t)r->base, plane, row;
    if (!r->base || address < (uintptr_t)r->base || at >= r->bytes)
        return 0;
    plane = at / r->pitch[1];
    at -= plane * r->pitch[1];
    row = at / r->pitch[0];
    at -= row * r->pitch[0];
    return at < r->row_bytes && row < (size_t)r->rows && plane < (size_t)r->planes;
}

IN_HANDLER static int is_watched(uintptr_t address)
{
    const struct table *t = guard.s.table;
    for (uint32_t i = 0; i < t->ranges; i++)
        if (is_element(&t->range[i], address))
            return 1;
    return 0;
}

/* Opens the page; under the table's lock. */
IN_HANDLER static void note_fault(uintptr_t address, uint8_t *page, int write)
{
    uintptr_t first = address & ~(uintptr_t)(guard.s.page_bytes - 1);
    protect(first, guard.s.page_bytes, PROT_READ | PROT_WRITE);
    if (!guard.s.armed || *page & PAGE_OPENED)
        return;
    *page |= PAGE_OPENED;
    if (!is_watched(address)) {
        if (guard.s.excluded_count < EXCLUDED_MOST)
            guard.s.excluded[guard.s.excluded_count++] = first;
    } else if (guard.s.thread == this_thread() && !guard.s.fault.address) {
        guard.s.fault.address = (char *)address;
        guard.s.fault.write = write;
    }
}

IN_HANDLER static int is_write(void *context)
{
#if defined(__x86_64__)
    /* Bit 1 of the page fault's error code (Intel SDM vol. 3, 4.7). */
    return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
#else
    (void)context;
    return -1;
#endif
}

IN_HANDLER static void call_before(int number, siginfo_t *info, void *context)
{
    struct sigaction *a = &guard.s.before;
    if (a->sa_flags & SA_SIGINFO) {
        a->sa_sigaction(number, info, context);
    } else if (a->sa_handler == SIG_DFL || a->sa_handler == SIG_IGN) {
        signal(number, SIG_DFL); /* the instruction is repeated, and ends the process */
    } else {
        a->sa_handler(number);
    }
}

/* Whether to repeat an instruction whose fault means nothing now: its page may have been of a table
 * that was replaced in between, and open by now. If it is not, the same fault comes again before
 * any page has changed. (A thread may well meet one address again and again, each time as its page
 * has just been opened.) Under the table's lock. */
IN_HANDLER static int repeat(uintptr_t address)
{
    if (guard.s.repeated == address && guard.s.repeated_by == this_thread() &&
        guard.s.repeated_at == guard.s.changes)
        return 0;
    guard.s.repeated = address;
    guard.s.repeated_by = this_thread();
    guard.s.repeated_at = guard.s.changes;
    return 1;
}

IN_HANDLER static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    int handled = 0;
    if (info->si_code == SEGV_ACCERR) {
        uint8_t *page;
        lock_table();
        page = page_of(address);
        handled = page && *page & PAGE_GUARDED;
        if (handled)
            note_fault(address, page, is_write(context));
        else
            handled = repeat(address);
        unlock_table();
    }
    if (!handled)
        call_before(number, info, context);
}

static rondo_status install(void)
{
    struct sigaction action;
    if (installed)
        return RONDO_OK;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    guard.s.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (guard.s.page_bytes > PAGE_MOST)
        return rd_error(RONDO_ERR_SYSTEM, "RONDO_CHECK: pages of %zu bytes, at most %d",
                        guard.s.page_bytes, PAGE_MOST);
    if (sigaction(SIGSEGV, &action, &guard.s.before))
        return rd_error(RONDO_ERR_SYSTEM, "RONDO_CHECK: sigaction: %s", strerror(errno));
    installed = 1;
    return RONDO_OK;
}

/* ---- the table */

static uintptr_t page_down(uintptr_t at) { return at & ~(uintptr_t)(guard.s.page_bytes - 1); }
static uintptr_t page_up(uintptr_t at) { return page_down(at + guard.s.page_bytes - 1); }

static int is_same(const struct rd_guard_range *range, uint32_t count)
{
    const struct table *t = guard.s.table;
    return t && t->ranges == count && !memcmp(t->range, range, count * sizeof *range);
}

static struct table *map_table(const struct rd_guard_range *range, uint32_t count)
{
    size_t pages = 0, bytes;
    struct table *t;
    for (uint32_t i = 0; i < count; i++)
        if (range[i].base)
            pages += (page_up((uintptr_t)range[i].base + range[i].bytes) -
                      page_down((uintptr_t)range[i].base)) /
                     guard.s.page_bytes;
    bytes = page_up(sizeof *t + count * (sizeof *t->segment + sizeof *t->range) + pages);
    t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return NULL;
    t->bytes = bytes;
    t->ranges = count;
    t->segment = (struct segment *)(void *)(t + 1);
    t->range = (struct rd_guard_range *)(void *)(t->segment + count);
    t->page = (uint8_t *)(t->range + count);
    memcpy(t->range, range, count * sizeof *range);
    return t;
}

/* The ranges' pages, sorted, those that meet as one; insertion keeps them disjoint. */
static void add_segment(struct table *t, uintptr_t begin, uintptr_t end)
{
    uint32_t at = 0, over;
    while (at < t->segments && t->segment[at].end < begin)
        at++;
    for (over = at; over < t->segments && t->segment[over].begin <= end; over++) {
        if (t->segment[over].begin < begin)
            begin = t->segment[over].begin;
        if (t->segment[over].end > end)
            end = t->segment[over].end;
    }
    memmove(&t->segment[at + 1], &t->segment[over], (t->segments - over) * sizeof *t->segment);
    t->segments = t->segments - (over - at) + 1;
    t->segment[at] = (struct segment){ begin, end, 0 };
}

/* Marks as guarded the pages of [begin, end), which are of one mapping. */
static void guard_pages(struct table *t, uintptr_t begin, uintptr_t end, int shared_too)
{
    for (uint32_t i = 0; i < t->segments; i++) {
        struct segment *s = &t->segment[i];
        uintptr_t from = s->begin > begin ? s->begin : begin, to = s->end < end ? s->end : end;
        for (; from < to; from += guard.s.page_bytes) {
            uint8_t *p = &t->page[s->page + (from - s->begin) / guard.s.page_bytes];
            if (shared_too || *p & PAGE_OPENED) /* here: holds watched bytes only */
                *p |= PAGE_GUARDED;
        }
    }
}

/* A first pass marks the pages that lie wholly in one range. */
static void find_whole_pages(struct table *t)
{
    for (uint32_t i = 0; i < t->ranges; i++) {
        const struct rd_guard_range *r = &t->range[i];
        uintptr_t at = page_up((uintptr_t)r->base), end = page_down((uintptr_t)r->base + r->bytes);
        for (; r->base && at < end; at += guard.s.page_bytes)
            *page_of(at) |= PAGE_OPENED;
    }
}

/* Asks the kernel which mappings may be written, and which may be stacks: the main thread's, and
 * what stands on pages without access, as other threads' do. */
static int classify(struct table *t)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], flags[5], path[256];
    unsigned long begin, end, last_end = 0;
    int stack, last_barred = 0;
    if (!maps)
        return 0;
    while (fgets(line, sizeof line, maps)) {
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255s", &begin, &end, flags, path) < 3)
            continue;
        stack = !strcmp(path, "[stack]") || (!path[0] && begin == last_end && last_barred);
        if (flags[0] == 'r' && flags[1] == 'w')
            guard_pages(t, begin, end, SHARED_PAGES && !stack);
        last_barred = flags[0] == '-';
        last_end = end;
    }
    fclose(maps);
    return 1;
}

static rondo_status make_table(const struct rd_guard_range *range, uint32_t count)
{
    struct table *t = map_table(range, count), *old;
    if (!t)
        return rd_error(RONDO_ERR_MEMORY, "RONDO_CHECK: no memory for the pages of %u slots",
                        count);
    for (uint32_t i = 0; i < count; i++)
        if (range[i].base)
            add_segment(t, page_down((uintptr_t)range[i].base),
                        page_up((uintptr_t)range[i].base + range[i].bytes));
    for (uint32_t i = 0; i < t->segments; i++) {
        t->segment[i].page = t->pages;
        t->pages += (t->segment[i].end - t->segment[i].begin) / guard.s.page_bytes;
    }
    lock_table();
    old = guard.s.table;
    guard.s.table = t;
    unlock_table();
    if (old)
        munmap(old, old->bytes);
    find_whole_pages(t);
    if (!classify(t))
        return rd_error(RONDO_ERR_SYSTEM, "RONDO_CHECK: /proc/self/maps cannot be read: %s",
                        strerror(errno));
    return RONDO_OK;
}

rondo_status rd_guard_enter(const struct rd_guard_range *range, uint32_t count)
{
    struct table *t;
    rondo_status status;
    pthread_mutex_lock(&taken);
    status = install();
    if (!status && !is_same(range, count))
        status = make_table(range, count);
    if (status) {
        pthread_mutex_unlock(&taken);
        return status;
    }
    t = guard.s.table;
    for (size_t i = 0; i < t->pages; i++)
        t->page[i] &= PAGE_GUARDED;
    for (uint32_t i = 0; i < guard.s.excluded_count; i++) {
        uint8_t *page = page_of(guard.s.excluded[i]);
        if (page)
            *page = 0;
    }
    return RONDO_OK;
}

void rd_guard_mark(const char *at, size_t bytes, unsigned mode)
{
    uintptr_t page = page_down((uintptr_t)at), end = (uintptr_t)at + bytes;
    for (; page < end; page += guard.s.page_bytes)
        *page_of(page) |= (uint8_t)mode;
}

static int is_open(uint8_t page) { return !(page & PAGE_GUARDED) || page & RD_GUARD_WRITE; }

size_t rd_guard_run(const char *at, size_t bytes, int *open)
{
    uintptr_t page = page_down((uintptr_t)at), end = (uintptr_t)at + bytes;
    *open = is_open(*page_of(page));
    do
        page += guard.s.page_bytes;
    while (page < end && is_open(*page_of(page)) == *open);
    return (page < end ? page : end) - (uintptr_t)at;
}

/* Protects pages as they are marked, or opens those that are, run after run. Under the table's
 * lock. */
static void set_pages(int armed)
{
    struct table *t = guard.s.table;
    guard.s.changes++;
    for (uint32_t i = 0; i < t->segments; i++) {
        struct segment *s = &t->segment[i];
        uint8_t *page = &t->page[s->page];
        size_t n = (s->end - s->begin) / guard.s.page_bytes;
        for (size_t at = 0, next; at < n; at = next) {
            uint8_t mark = page[at] & (PAGE_GUARDED | RD_GUARD_READ | RD_GUARD_WRITE);
            for (next = at + 1; next < n && (page[next] & ~PAGE_OPENED) == mark; next++)
                ;
            /* A refusal (too many mappings) leaves the pages as they are: less is seen. */
            if (!is_open(mark))
                protect(s->begin + at * guard.s.page_bytes, (next - at) * guard.s.page_bytes,
                        !armed                 ? PROT_READ | PROT_WRITE
                        : mark & RD_GUARD_READ ? PROT_READ
                                               : PROT_NONE);
        }
    }
}

void rd_guard_arm(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    lock_table();
    guard.s.thread = this_thread();
    guard.s.fault.address = NULL;
    guard.s.armed = 1;
    set_pages(1);
    unlock_table();
}

void rd_guard_disarm(struct rd_guard_fault *fault)
{
    lock_table();
    guard.s.armed = 0;
    set_pages(0);
    *fault = guard.s.fault;
    unlock_table();
}

void rd_guard_leave(void) { pthread_mutex_unlock(&taken); }
