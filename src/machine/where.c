/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_where.
 *
 * Safety. It may run in a signal handler of any thread at any moment, also in the middle of the
 * library's own code and after memory was corrupted. So it reads everything but static memory by
 * process_vm_readv (or through a pipe), which fails where a plain read would fault; it follows no
 * pointer to a function but those of `known`; its loops are bounded; what it prints may be out of
 * date, or, if memory was used again meanwhile, nonsense. Workers tell what they turn to by relaxed
 * stores: of a thread that is stopped in a task, its own signal handler sees them. */
#include "src/machine/where.h"

#include "src/machine/worker.h"

#include <errno.h>
#include <limits.h>
#include <rondo/trace.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RUNTIMES = 64, CALLERS = 64, MOST_WORKERS = 4096, MOST_SOURCES = 4096, LINE = 512 };

static rd_atomic(struct rd_runtime *) runtimes[RUNTIMES];
static rd_atomic(rd_where_fn *) known[RD_WORK_KINDS];
/* Threads that are no workers, by their spot of src/base/park.h: of several that share one, the
 * last. */
static struct rd_where_caller callers[CALLERS];
_Thread_local struct rd_where_caller *rd_where_mine;

/* ---- what the library tells */

void rd_where_know(uint32_t kind, rd_where_fn *fn) { rd_store_relaxed(&known[kind], fn); }

void rd_where_add(struct rd_runtime *rt)
{
    for (int i = 0; i < RUNTIMES; i++) {
        struct rd_runtime *none = NULL;
        if (rd_cas_acq_rel(&runtimes[i], &none, rt)) /* release: all of it */
            return;
    }
}

void rd_where_remove(struct rd_runtime *rt)
{
    for (int i = 0; i < RUNTIMES; i++) {
        struct rd_runtime *own = rt;
        if (rd_cas_relaxed(&runtimes[i], &own, NULL)) /* reads after it are guarded in any case */
            return;
    }
}

struct rd_where_caller *rd_where_claim(void)
{
    rd_where_mine = &callers[rd_park_spot()];
    rd_store_relaxed(&rd_where_mine->tid, rd_thread_tid());
    return rd_where_mine;
}

/* ---- reading */

/* Where process_vm_readv is forbidden: the kernel copies memory into a pipe, or says EFAULT. */
static int read_by_pipe(void *to, const void *from, size_t bytes)
{
    int end[2], good;
    if (bytes > PIPE_BUF || pipe(end))
        return 0;
    /* Bare system calls: a sanitizer would judge what write() reads. */
    good = syscall(SYS_write, (long)end[1], from, bytes) == (long)bytes &&
           read(end[0], to, bytes) == (ssize_t)bytes;
    close(end[0]);
    close(end[1]);
    return good;
}

int rd_where_read(void *to, const void *from, size_t bytes)
{
    struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };
    long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1L, &remote, 1L, 0L);
    if (got < 0 && (errno == EPERM || errno == ENOSYS))
        return read_by_pipe(to, from, bytes);
    return got == (long)bytes;
}

int rd_where_text(char *to, size_t room, const char *from)
{
    size_t at;
    for (at = 0; at + 1 < room; at++) {
        if (!rd_where_read(&to[at], from + at, 1)) {
            to[at] = 0;
            return 0;
        }
        if (!to[at])
            return 1;
    }
    to[at] = 0;
    return 1;
}

/* A field of an object that may go away. */
#define LOOK(to, from) rd_where_read(&(to), (const void *)&(from), sizeof(to))

/* ---- writing */

struct line {
    char text[LINE];
    size_t used;
};

static void say(struct line *l, const char *text)
{
    while (*text && l->used + 1 < LINE)
        l->text[l->used++] = *text++;
}

static void say_based(struct line *l, uint64_t n, unsigned base)
{
    char digits[21];
    int at = 20;
    digits[at] = 0;
    do
        digits[--at] = "0123456789abcdef"[n % base];
    while ((n /= base) != 0);
    say(l, digits + at);
}

static void say_number(struct line *l, uint64_t n) { say_based(l, n, 10); }

static void send(struct line *l, int fd)
{
    size_t done = 0;
    l->text[l->used++] = '\n';
    while (done < l->used) {
        ssize_t n = write(fd, l->text + done, l->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    l->used = 0;
}

/* What a source is at; 0: nothing is known of it. */
static int say_source(struct line *l, const struct rd_work *work, int running)
{
    struct rd_where where;
    rd_where_fn *fn;
    uint32_t kind;
    memset(&where, 0, sizeof where);
    if (!LOOK(kind, work->kind) || kind >= RD_WORK_KINDS)
        return 0;
    fn = rd_load_relaxed(&known[kind]);
    if (!fn || !fn(work, running, &where))
        return 0;
    say(l, running ? "runs " : "waits before ");
    if (where.node[0]) {
        say(l, "node '");
        say(l, where.node);
        say(l, "' of ");
    }
    say(l, "exec '");
    say(l, where.exec);
    say(l, "', replay ");
    say_number(l, where.replay);
    say(l, ", lane ");
    say_number(l, where.lane);
    return 1;
}

static void say_wait(struct line *l, const struct rd_unmet *u)
{
    uint64_t value;
    if (u->word && LOOK(value, *u->word)) {
        say(l, ": at ");
        say_number(l, value);
        say(l, ", needs ");
        say_number(l, u->need);
    } else if (u->until_ns) {
        say(l, ": until ");
        say_number(l, (uint64_t)u->until_ns);
        say(l, " ns");
    }
}

/* The blocked sources of an agenda, a few of them. */
static int say_agenda(struct line *l, const struct rd_work *work)
{
    int said = 0;
    for (int i = 0; work && i < MOST_SOURCES && said < 3; i++) {
        struct rd_unmet unmet;
        enum rd_advance last;
        size_t before = l->used;
        if (!LOOK(last, work->own.last) || !LOOK(unmet, work->own.unmet))
            break;
        if (last == RD_BLOCKED) {
            say(l, said ? "; " : ": ");
            if (say_source(l, work, 0)) {
                say_wait(l, &unmet);
                said++;
            } else {
                l->used = before;
            }
        }
        if (!LOOK(work, work->own.next))
            break;
    }
    return said;
}

static void say_thread(struct line *l, uint32_t tid, uint32_t me)
{
    if (!tid)
        return;
    say(l, " thread ");
    say_number(l, tid);
    if (tid == me)
        say(l, " (this one)");
}

static void tell_worker(const struct rd_worker *w, uint64_t id, uint32_t me, int fd)
{
    struct line l = { { 0 }, 0 };
    struct rd_work *asked, *agenda;
    uint32_t processor, cpu, tid, driver;
    enum rd_worker_kind kind;
    if (!LOOK(asked, w->asked) || !LOOK(agenda, w->agenda) || !LOOK(processor, w->processor) ||
        !LOOK(cpu, w->cpu) || !LOOK(tid, w->thread.tid) || !LOOK(driver, w->driver) ||
        !LOOK(kind, w->kind))
        return;
    say(&l, "rondo: runtime 0x");
    say_based(&l, id, 16);
    say(&l, kind == RD_WORKER_HELPER ? " helper " : " worker ");
    say_number(&l, processor);
    if (kind != RD_WORKER_HELPER) {
        say(&l, " cpu ");
        say_number(&l, cpu);
    }
    say_thread(&l, kind == RD_WORKER_ADOPTED ? driver : tid, me);
    if (asked) {
        say(&l, ": ");
        if (!say_source(&l, asked, 1))
            say(&l, "looks for work");
    } else if (!say_agenda(&l, agenda)) {
        say(&l, kind == RD_WORKER_ADOPTED && !driver ? ": nobody drives it" : ": has no work");
    }
    send(&l, fd);
}

static void tell_runtime(const struct rd_runtime *rt, uint32_t me, int fd)
{
    const struct rd_worker *workers, *helper;
    uint32_t count;
    uint64_t id;
    if (!LOOK(workers, rt->workers) || !LOOK(count, rt->processors) || !LOOK(id, rt->id) ||
        !LOOK(helper, rt->helpers))
        return;
    for (uint32_t i = 0; i < count && i < MOST_WORKERS; i++)
        tell_worker(&workers[i], id, me, fd);
    for (int i = 0; helper && i < MOST_WORKERS; i++) {
        tell_worker(helper, id, me, fd);
        if (!LOOK(helper, helper->next_helper))
            break;
    }
}

void rondo_where(int fd)
{
    int saved = errno;
    uint32_t me = rd_thread_tid();
    for (int i = 0; i < RUNTIMES; i++) {
        struct rd_runtime *rt = rd_load_relaxed(&runtimes[i]);
        if (rt)
            tell_runtime(rt, me, fd);
    }
    for (int i = 0; i < CALLERS; i++) {
        struct rd_work *work = rd_load_relaxed(&callers[i].work);
        struct line l = { { 0 }, 0 };
        if (!work)
            continue;
        say(&l, "rondo: caller");
        say_thread(&l, rd_load_relaxed(&callers[i].tid), me);
        say(&l, ": ");
        if (say_source(&l, work, 1))
            send(&l, fd);
    }
    errno = saved;
}
