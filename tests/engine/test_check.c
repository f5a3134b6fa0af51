/* SPDX-License-Identifier: BSD-3-Clause */
/* RONDO_CHECK=access: a task that touches what it did not declare fails, and says what it touched;
 * a task that does not is left alone, whatever its buffers are. */
#include "tests/engine/engine_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define READ_WORD  "read"
#define WRITE_WORD "write"
#else
#define READ_WORD  "access"
#define WRITE_WORD "access"
#endif

/* ---- one task that is given addresses to touch, beside what it declares */

enum { N = 3000, NX = 60, NY = 50 }; /* doubles: several pages; a box of the same size */

struct touches {
    const double *read; /* NULL: nothing */
    double *write;
    double got;
    uint64_t ran;
};

static int touch(rondo_task *self, const void *arg)
{
    struct touches *t = rondo_task_context(self);
    (void)arg;
    t->ran++;
    if (t->read)
        t->got = *(volatile const double *)t->read;
    if (t->write)
        *(volatile double *)t->write = 42;
    return 0;
}

enum memory { OWNED, HEAP, STATIC, STACK, MEMORIES };
static const char *const memory_names[MEMORIES] = { "owned", "heap", "static", "stack" };

struct rig {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_buffer buffer[2];
    rondo_slot slot[2];
    double *at[2];
    rondo_exec exec;
    struct touches t;
};

static void make_buffer(struct rig *r, int i, double *host)
{
    rondo_buffer_desc d = { .shape = { .elem_bytes = sizeof(double), .extent = { NX, NY } },
                            .host = host };
    ET_OK(rondo_buffer_create(r->rt, &d, &r->buffer[i]));
    ET_OK(rondo_buffer_map(r->buffer[i], RONDO_WRITE, (void **)&r->at[i]));
    r->slot[i] = rondo_subgraph_slot(
        r->g, &(rondo_slot_desc){ .name = i ? "v" : "u", .buffer = r->buffer[i] });
    ET_HANDLE(r->slot[i]);
    for (int k = 0; k < NX * NY; k++)
        r->at[i][k] = k;
}

static void open_rig(struct rig *r, double *u, double *v)
{
    memset(r, 0, sizeof *r);
    r->rt = et_runtime(2);
    ET_OK(rondo_subgraph_create(r->rt, NULL, &r->g));
    make_buffer(r, 0, u);
    make_buffer(r, 1, v);
}

static void record_touch(struct rig *r, const rondo_access *accesses, uint32_t count,
                         uint32_t flags)
{
    rondo_task_desc d = { .name = "toucher",
                          .fn = touch,
                          .context = &r->t,
                          .accesses = accesses,
                          .access_count = count,
                          .flags = flags };
    ET_HANDLE(rondo_record_task(r->g, &d));
    ET_OK(rondo_instantiate(r->g, NULL, &r->exec));
}

static void close_rig(struct rig *r)
{
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_buffer_unmap(r->buffer[i]));
        ET_OK(rondo_buffer_destroy(r->buffer[i]));
    }
    ET_OK(rondo_exec_destroy(r->exec));
    ET_OK(rondo_subgraph_destroy(r->g));
    ET_CLOSE(r->rt);
}

/* Elements of u and v that the task reads and writes; -1: none. */
struct row {
    const char *what;
    int read_of, read, write_of, write;
    const char *says; /* NULL: right */
};

/* The task declares: u read, columns 0 to 29 of all rows; v written, rows 10 to 19. */
static const struct row rows[] = {
    { "nothing undeclared", 0, 61, 1, 10 * NX + 5, NULL },
    { "reads a whole other page", 1, 30 * NX + 7, -1, 0,
      "undeclared " READ_WORD
      " of slot 'v' at 0x%, element (7,30), which is in none of its accesses" },
    { "writes a whole other page", -1, 0, 1, 30 * NX + 7,
      "undeclared " WRITE_WORD
      " of slot 'v' at 0x%, element (7,30), which is in none of its accesses" },
    { "writes beside what it writes", -1, 0, 1, 9 * NX + 59,
      "undeclared write of slot 'v' at 0x%, element (59,9), which is in none of its accesses" },
    { "writes what it only reads", -1, 0, 0, 3 * NX + 2,
      "undeclared " WRITE_WORD " of slot 'u' at 0x%, element (2,3), which it may only read" },
    { "writes beside what it reads", -1, 0, 0, 3 * NX + 31,
      "undeclared " WRITE_WORD
      " of slot 'u' at 0x%, element (31,3), which is in none of its accesses" },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Whether the message is the text, with hexadecimal digits at %. */
static int says(const char *message, const char *text)
{
    for (; *text; text++)
        if (*text == '%')
            message += strspn(message, "0123456789abcdef");
        else if (*message++ != *text)
            return 0;
    return !*message;
}

static void run_row(const struct row *row, enum memory memory, double *u, double *v)
{
    struct rig r;
    rondo_result result;
    rondo_status expected;
    open_rig(&r, u, v);
    r.t.read = row->read_of < 0 ? NULL : r.at[row->read_of] + row->read;
    r.t.write = row->write_of < 0 ? NULL : r.at[row->write_of] + row->write;
    record_touch(&r,
                 (rondo_access[]){ rondo_read(r.slot[0], rondo_box(0, 0, 30, NY)),
                                   rondo_read_write(r.slot[1], rondo_box(0, 10, NX, 10)) },
                 2, 0);
    expected = row->says ? RONDO_ERR_FAILED : RONDO_OK;
    for (int i = 0; i < 3; i++) {
        rondo_status status = rondo_replay_and_wait(r.exec, NULL, -1, &result);
        cr_assert_eq(status, expected, "%s, %s: %s: %s", row->what, memory_names[memory],
                     rondo_status_string(status), result.message);
        cr_assert(!expected || says(result.message, row->says), "%s, %s: %s", row->what,
                  memory_names[memory], result.message);
        cr_assert(!expected || !strcmp(result.node, "toucher"));
        ET_OK(rondo_exec_reset(r.exec));
        /* It went on: what it wrote is there, and all is as open as before. */
        cr_assert_eq(r.t.ran, (uint64_t)i + 1);
        cr_assert(!r.t.write || *r.t.write == 42);
        cr_assert(!r.t.read || r.t.got == *r.t.read);
        for (int k = 0; k < NX * NY; k++)
            for (int b = 0; b < 2; b++)
                if (&r.at[b][k] != r.t.write)
                    cr_assert_eq(r.at[b][k], k);
        if (r.t.write)
            *r.t.write = (double)row->write;
    }
    close_rig(&r);
}

static double static_u[N], static_v[N];

static void run_rows(enum memory memory)
{
    double stack_u[N], stack_v[N];
    for (int i = 0; i < ROWS; i++) {
        double *u = NULL, *v = NULL;
        if (memory == HEAP) {
            u = malloc(sizeof stack_u);
            v = malloc(sizeof stack_v);
            cr_assert(u && v);
        } else if (memory != OWNED) {
            u = memory == STATIC ? static_u : stack_u;
            v = memory == STATIC ? static_v : stack_v;
        }
        run_row(&rows[i], memory, u, v);
        if (memory == HEAP) {
            free(u);
            free(v);
        }
    }
}

Test(check, names_the_first_undeclared_touch, .timeout = 120)
{
    setenv("RONDO_CHECK", "access", 1);
    for (int m = 0; m < MEMORIES; m++)
        run_rows((enum memory)m);
}

/* ---- memory that shares its pages with anything */

static int write_one(rondo_task *self, const void *arg)
{
    double *const *at = arg;
    (void)self;
    **at = 42;
    return 0;
}

static void little(double *u, double *v, double *write, const char *text)
{
    rondo_shape shape = { .elem_bytes = sizeof(double), .extent = { 8 } };
    rondo_runtime rt = et_runtime(2);
    rondo_buffer buffer[2];
    rondo_slot slot[2];
    rondo_subgraph g;
    rondo_exec exec;
    rondo_result result;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    for (int i = 0; i < 2; i++) {
        rondo_buffer_desc d = { .shape = shape, .host = i ? v : u };
        ET_OK(rondo_buffer_create(rt, &d, &buffer[i]));
        slot[i] = rondo_subgraph_slot(
            g, &(rondo_slot_desc){ .name = i ? "v" : "u", .buffer = buffer[i] });
    }
    ET_HANDLE(slot[1]);
    ET_HANDLE(rondo_record_task(
        g, &(rondo_task_desc){ .fn = write_one,
                               RONDO_ARG(write),
                               RONDO_ACCESSES(rondo_read_write(slot[0], rondo_span(2, 3))) }));
    ET_OK(rondo_instantiate(g, NULL, &exec));
    for (int i = 0; i < 20; i++) {
        *write = 1;
        ET_IS(rondo_replay_and_wait(exec, NULL, -1, &result), text ? RONDO_ERR_FAILED : RONDO_OK);
        cr_assert(*write == 42 && (!text || strstr(result.message, text)), "%s", result.message);
        ET_OK(rondo_exec_reset(exec));
    }
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    for (int i = 0; i < 2; i++)
        ET_OK(rondo_buffer_destroy(buffer[i]));
    ET_CLOSE(rt);
}

static void all_little(double *u, double *v)
{
    little(u, v, u + 3, NULL);
    little(u, v, u + 5, "slot 'u'");
    little(u, v, u + 1, "element 1, ");
    little(u, v, v + 7, "slot 'v'");
}

Test(check, wraps_that_share_their_pages, .timeout = 120)
{
    static double static_few[2][8];
    double stack_few[2][8], *heap_few[2];
    setenv("RONDO_CHECK", "access", 1);
    for (int i = 0; i < 2; i++)
        cr_assert((heap_few[i] = calloc(8, sizeof(double))) != NULL);
    all_little(static_few[0], static_few[1]);
    all_little(stack_few[0], stack_few[1]);
    all_little(heap_few[0], heap_few[1]);
    for (int i = 0; i < 2; i++)
        free(heap_few[i]);
}

/* ---- what is junk, what stays */

static int halve(rondo_task *self, const void *arg)
{
    const double *in = rondo_task_read(self, 0);
    double *out = rondo_task_write(self, 1);
    (void)arg;
    for (int i = 0; i < 50; i++) /* of 100 that it says it overwrites */
        out[i] = in[i] / 2;
    return 0;
}

static int use_junk(rondo_task *self, const void *arg)
{
    double *out = rondo_task_write(self, 0);
    (void)arg;
    out[0] += 1; /* it says it only writes */
    return 0;
}

struct line {
    rondo_runtime rt;
    rondo_subgraph g;
    rondo_buffer buffer[2];
    rondo_slot slot[2];
    double *at[2];
};

static void open_line(struct line *l)
{
    l->rt = et_runtime(1);
    ET_OK(rondo_subgraph_create(l->rt, NULL, &l->g));
    for (int i = 0; i < 2; i++) {
        rondo_buffer_desc d = { .shape = { .elem_bytes = sizeof(double), .extent = { 100 } } };
        ET_OK(rondo_buffer_create(l->rt, &d, &l->buffer[i]));
        ET_OK(rondo_buffer_map(l->buffer[i], RONDO_WRITE, (void **)&l->at[i]));
        l->slot[i] = rondo_subgraph_slot(
            l->g, &(rondo_slot_desc){ .name = i ? "out" : "in", .buffer = l->buffer[i] });
        for (int k = 0; k < 100; k++)
            l->at[i][k] = k;
    }
    ET_HANDLE(l->slot[1]);
}

static void close_line(struct line *l)
{
    for (int i = 0; i < 2; i++) {
        ET_OK(rondo_buffer_unmap(l->buffer[i]));
        ET_OK(rondo_buffer_destroy(l->buffer[i]));
    }
    ET_OK(rondo_subgraph_destroy(l->g));
    ET_CLOSE(l->rt);
}

static int is_junk(double value)
{
    unsigned char byte[sizeof value];
    memcpy(byte, &value, sizeof value);
    for (size_t i = 0; i < sizeof value; i++)
        if (byte[i] != 0xa5)
            return 0;
    return 1;
}

Test(check, what_is_not_overwritten_is_junk, .timeout = 60)
{
    struct line l;
    rondo_exec exec;
    rondo_param p;
    int32_t on = 0;
    setenv("RONDO_CHECK", "access", 1);
    open_line(&l);
    p = rondo_subgraph_param(l.g, "on", sizeof on, &on);
    ET_HANDLE(rondo_record_task(
        l.g, &(rondo_task_desc){ .fn = halve,
                                 .when = { .param = p },
                                 RONDO_ACCESSES(rondo_read(l.slot[0], rondo_whole()),
                                                rondo_write(l.slot[1], rondo_whole())) }));
    ET_OK(rondo_instantiate(l.g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL)); /* its condition does not hold */
    for (int k = 0; k < 100; k++)
        cr_assert(l.at[1][k] == k && l.at[0][k] == k);
    on = 1;
    ET_OK(rondo_replay_and_wait(
        exec, &(rondo_replay_args){ .values = &(rondo_value){ p, &on, 0 }, .value_count = 1 }, -1,
        NULL));
    for (int k = 0; k < 100; k++)
        cr_assert(k < 50 ? l.at[1][k] == k / 2.0 : is_junk(l.at[1][k]), "element %d: %g", k,
                  l.at[1][k]);
    for (int k = 0; k < 100; k++)
        cr_assert_eq(l.at[0][k], k);
    ET_OK(rondo_exec_destroy(exec));
    close_line(&l);
}

Test(check, a_read_of_what_is_only_written_is_junk, .timeout = 60)
{
    struct line l;
    rondo_exec exec;
    double junk;
    setenv("RONDO_CHECK", "access", 1);
    open_line(&l);
    ET_HANDLE(rondo_record_task(
        l.g, &(rondo_task_desc){ .fn = use_junk,
                                 RONDO_ACCESSES(rondo_write(l.slot[1], rondo_span(0, 1)),
                                                rondo_read(l.slot[1], rondo_span(1, 99))) }));
    ET_OK(rondo_instantiate(l.g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    memset(&junk, 0xa5, sizeof junk);
    cr_assert_eq(l.at[1][0], junk + 1);
    for (int k = 1; k < 100; k++)
        cr_assert_eq(l.at[1][k], k);
    ET_OK(rondo_exec_destroy(exec));
    close_line(&l);
}

/* ---- what may touch what it likes, and what may not */

static int nothing(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    return 0;
}

Test(check, everything_and_no_access, .timeout = 60)
{
    struct rig r;
    setenv("RONDO_CHECK", "access", 1);
    for (uint32_t flags = 0; flags <= RONDO_NO_ACCESS; flags += RONDO_NO_ACCESS) {
        open_rig(&r, NULL, NULL);
        r.t.read = r.at[1] + 3;
        record_touch(&r, NULL, 0, flags);
        ET_IS(rondo_replay_and_wait(r.exec, NULL, -1, NULL), flags ? RONDO_ERR_FAILED : RONDO_OK);
        close_rig(&r);
    }
    /* A token is no memory. */
    open_rig(&r, NULL, NULL);
    {
        rondo_slot token = rondo_subgraph_slot(
            r.g, &(rondo_slot_desc){ .name = "token", .shape = { .extent = { 3 } } });
        ET_HANDLE(token);
        record_touch(&r, (rondo_access[]){ rondo_write(token, rondo_whole()) }, 1, 0);
    }
    ET_OK(rondo_replay_and_wait(r.exec, NULL, -1, NULL));
    close_rig(&r);
}

/* Another thread's touches are its own business. */
struct two_threads {
    double *at;
    atomic_int inside, touched;
};

static int wait_for_touch(rondo_task *self, const void *arg)
{
    struct two_threads *t = rondo_task_context(self);
    int64_t end = et_now_ns() + 20000000000;
    (void)arg;
    atomic_store(&t->inside, 1);
    while (!atomic_load(&t->touched) && et_now_ns() < end)
        ;
    return !atomic_load(&t->touched);
}

Test(check, touches_of_other_threads, .timeout = 60)
{
    struct rig r;
    struct two_threads t = { NULL, 0, 0 };
    rondo_event event;
    setenv("RONDO_CHECK", "access", 1);
    open_rig(&r, NULL, NULL);
    t.at = r.at[1] + 1000;
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .fn = wait_for_touch, .context = &t, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(r.g, NULL, &r.exec));
    ET_OK(rondo_replay(r.exec, NULL, &event));
    while (!atomic_load(&t.inside))
        ;
    *(volatile double *)t.at; /* a read: a write could not be told from the task's own */
    atomic_store(&t.touched, 1);
    ET_OK(rondo_exec_wait(r.exec, NULL));
    close_rig(&r);
}

/* A page that is protected for one node may be asked for by a thread that gets its fault only when
 * other pages are. */
enum { PAGES = 250, PAGE_BYTES = 4096 };

struct neighbour {
    char *pages;
    atomic_int now; /* the page to touch, -1: none any more */
};

static void *touch_beside(void *argument)
{
    struct neighbour *n = argument;
    for (int k; (k = atomic_load(&n->now)) >= 0;)
        (*(volatile uint64_t *)(void *)(n->pages + (size_t)k * PAGE_BYTES + 1024))++;
    return NULL;
}

static void one_page(rondo_runtime rt, double *at)
{
    rondo_buffer buffer;
    rondo_slot slot;
    rondo_subgraph g;
    rondo_exec exec;
    rondo_buffer_desc d = { .shape = { .elem_bytes = 8, .extent = { 8 } }, .host = at };
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_OK(rondo_buffer_create(rt, &d, &buffer));
    slot = rondo_subgraph_slot(g, &(rondo_slot_desc){ .buffer = buffer });
    ET_HANDLE(slot);
    for (int i = 0; i < 4; i++)
        ET_HANDLE(
            rondo_record_task(g, &(rondo_task_desc){ .fn = nothing, .flags = RONDO_NO_ACCESS }));
    ET_HANDLE(rondo_record_fill(g, &(rondo_move_desc){ .to = rondo_write(slot, rondo_whole()),
                                                       .value = &(double){ 7 },
                                                       .value_bytes = sizeof(double) }));
    ET_OK(rondo_instantiate(g, NULL, &exec));
    ET_OK(rondo_replay_and_wait(exec, NULL, -1, NULL));
    cr_assert(at[0] == 7 && at[7] == 7);
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_OK(rondo_buffer_destroy(buffer));
}

Test(check, pages_that_come_and_go, .timeout = 120)
{
    struct neighbour n = { NULL, 0 };
    rondo_runtime rt;
    pthread_t thread;
    setenv("RONDO_CHECK", "access", 1);
    n.pages = aligned_alloc(PAGE_BYTES, (size_t)PAGES * PAGE_BYTES);
    cr_assert(n.pages != NULL);
    memset(n.pages, 0, (size_t)PAGES * PAGE_BYTES);
    rt = et_runtime(2);
    cr_assert_eq(pthread_create(&thread, NULL, touch_beside, &n), 0);
    for (int k = 0; k < PAGES; k++) {
        atomic_store(&n.now, k);
        one_page(rt, (double *)(void *)(n.pages + (size_t)k * PAGE_BYTES));
    }
    atomic_store(&n.now, -1);
    pthread_join(thread, NULL);
    free(n.pages);
    ET_CLOSE(rt);
}

/* The same faults again and again, each time when other pages are known. What is read is written
 * meanwhile, and not looked at. */
__attribute__((no_sanitize("thread"))) static void *read_both(void *argument)
{
    struct neighbour *n = argument;
    while (atomic_load(&n->now) >= 0)
        for (int k = 0; k < 2; k++)
            (void)*(volatile double *)(void *)(n->pages + (size_t)k * PAGE_BYTES);
    return NULL;
}

Test(check, pages_that_come_again, .timeout = 120)
{
    struct neighbour n = { aligned_alloc(PAGE_BYTES, (size_t)2 * PAGE_BYTES), 0 };
    rondo_runtime rt;
    pthread_t thread;
    setenv("RONDO_CHECK", "access", 1);
    cr_assert(n.pages != NULL);
    memset(n.pages, 0, (size_t)2 * PAGE_BYTES);
    rt = et_runtime(2);
    cr_assert_eq(pthread_create(&thread, NULL, read_both, &n), 0);
    for (uint64_t k = 0; k < et_scaled(3000, 300); k++)
        one_page(rt, (double *)(void *)(n.pages + k % 2 * PAGE_BYTES));
    atomic_store(&n.now, -1);
    pthread_join(thread, NULL);
    free(n.pages);
    ET_CLOSE(rt);
}

/* ---- faults that are not the check's go where they went */

static volatile char *mine;
static volatile sig_atomic_t faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if ((volatile char *)info->si_addr < mine || (volatile char *)info->si_addr >= mine + 4096)
        _exit(9);
    faults++;
    if (mprotect((void *)(uintptr_t)mine, 4096, PROT_READ | PROT_WRITE))
        _exit(8);
}

static int fault_of_its_own(rondo_task *self, const void *arg)
{
    (void)self;
    (void)arg;
    mprotect((void *)(uintptr_t)mine, 4096, PROT_NONE);
    mine[7] = 1;
    return 0;
}

Test(check, other_faults_go_to_the_handler_before, .timeout = 60)
{
    struct rig r;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    mine = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert((uintptr_t)mine != (uintptr_t)MAP_FAILED);
    setenv("RONDO_CHECK", "access", 1);
    open_rig(&r, NULL, NULL);
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .fn = fault_of_its_own, .flags = RONDO_NO_ACCESS }));
    ET_OK(rondo_instantiate(r.g, NULL, &r.exec));
    for (int i = 0; i < 3; i++)
        ET_OK(rondo_replay_and_wait(r.exec, NULL, -1, NULL));
    mprotect((void *)(uintptr_t)mine, 4096, PROT_NONE);
    mine[0] = 1;
    cr_assert_eq(faults, 4);
    munmap((void *)(uintptr_t)mine, 4096);
    close_rig(&r);
}

/* ---- buffers that change from replay to replay */

static int add_up(rondo_task *self, const void *arg)
{
    const double *in = rondo_task_read(self, 0);
    double *out = rondo_task_write(self, 1);
    double *const *forbidden = arg;
    for (int i = 0; i < 100; i++)
        out[i] = in[i] + 1;
    if (*forbidden)
        (*forbidden)[5] += 3; /* another value each time: pages with other data are compared */
    return 0;
}

Test(check, rings_and_bindings, .timeout = 60)
{
    rondo_shape shape = { .elem_bytes = sizeof(double), .extent = { 100 } };
    setenv("RONDO_CHECK", "access", 1);
    for (int wrong = 0; wrong < 2; wrong++) {
        rondo_runtime rt = et_runtime(2);
        rondo_buffer ring[2], bound, other;
        rondo_slot in, out, third, fourth;
        rondo_subgraph g;
        rondo_exec exec;
        rondo_result result;
        double *at, *forbidden = NULL;
        ET_OK(rondo_subgraph_create(rt, NULL, &g));
        for (int i = 0; i < 4; i++)
            ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = shape },
                                      i < 2    ? &ring[i]
                                      : i == 2 ? &bound
                                               : &other));
        in = rondo_subgraph_slot(g,
                                 &(rondo_slot_desc){ .name = "in", .ring = ring, .ring_count = 2 });
        out = rondo_subgraph_slot(
            g, &(rondo_slot_desc){ .name = "out", .ring = ring, .ring_count = 2, .ring_first = 1 });
        third = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "third", .shape = shape });
        fourth = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "fourth", .buffer = other });
        ET_HANDLE(fourth);
        ET_OK(rondo_buffer_map(bound, RONDO_READ, (void **)&at));
        if (wrong)
            forbidden = at;
        ET_HANDLE(rondo_record_task(
            g, &(rondo_task_desc){ .name = "step",
                                   .fn = add_up,
                                   RONDO_ARG(forbidden),
                                   RONDO_ACCESSES(rondo_read(in, rondo_whole()),
                                                  rondo_write(out, rondo_whole())) }));
        ET_HANDLE(
            rondo_record_copy(g, &(rondo_move_desc){ .from = rondo_read(out, rondo_whole()),
                                                     .to = rondo_write(third, rondo_whole()) }));
        ET_OK(rondo_instantiate(g, NULL, &exec));
        for (int i = 1; i <= 5; i++) {
            rondo_binding b = { third, bound };
            ET_IS(rondo_replay_and_wait(exec,
                                        &(rondo_replay_args){ .bindings = &b, .binding_count = 1 },
                                        -1, &result),
                  wrong ? RONDO_ERR_FAILED : RONDO_OK);
            cr_assert(!wrong || strstr(result.message, "of slot 'third' at "), "%s",
                      result.message);
            cr_assert(wrong || at[99] == i, "replay %d: %g", i, at[99]);
            ET_OK(rondo_exec_reset(exec));
        }
        ET_OK(rondo_buffer_unmap(bound));
        for (int i = 0; i < 4; i++)
            ET_OK(rondo_buffer_destroy(i < 2 ? ring[i] : i == 2 ? bound : other));
        ET_OK(rondo_exec_destroy(exec));
        ET_OK(rondo_subgraph_destroy(g));
        ET_CLOSE(rt);
    }
}

/* ---- chunks with halos, many tracks at once */

static int smooth(rondo_task *self, const void *arg)
{
    const rondo_region *c = rondo_task_chunk(self);
    const double *in = rondo_task_read(self, 0);
    double *out = rondo_task_write(self, 1);
    int reach = *(const int *)arg;
    for (int64_t i = c->first[0]; i < c->first[0] + c->count[0]; i++)
        out[i] = in[i < reach ? 0 : i - reach] + in[i + 1 < N ? i + 1 : N - 1];
    return 0;
}

static void chunks(int reach, rondo_status expected)
{
    rondo_shape shape = { .elem_bytes = sizeof(double), .extent = { N } };
    rondo_runtime rt = et_runtime(2);
    rondo_buffer in, out[8];
    rondo_slot slot[2];
    rondo_subgraph g;
    rondo_exec exec;
    rondo_status worst = RONDO_OK;
    ET_OK(rondo_subgraph_create(rt, NULL, &g));
    ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = shape }, &in));
    slot[0] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "in", .buffer = in });
    slot[1] = rondo_subgraph_slot(g, &(rondo_slot_desc){ .name = "out", .shape = shape });
    ET_HANDLE(slot[1]);
    ET_HANDLE(rondo_record_for(
        g, &(rondo_for_desc){ RONDO_TASK(.fn = smooth, RONDO_ARG(reach),
                                         RONDO_ACCESSES(rondo_chunk(slot[0], RONDO_READ, 1, 0),
                                                        rondo_chunk(slot[1], RONDO_WRITE, 0, 0))),
                              .range = rondo_span(0, N), .chunks = { 4 } }));
    ET_OK(rondo_instantiate(
        g, &(rondo_instantiate_options){ .order = RONDO_CONCURRENT, .tracks = 4 }, &exec));
    for (int i = 0; i < 8; i++) {
        rondo_binding b;
        ET_OK(rondo_buffer_create(rt, &(rondo_buffer_desc){ .shape = shape }, &out[i]));
        b = (rondo_binding){ slot[1], out[i] };
        ET_OK(rondo_replay(exec, &(rondo_replay_args){ .bindings = &b, .binding_count = 1 }, NULL));
    }
    worst = rondo_exec_wait(exec, NULL);
    cr_assert_eq(worst, expected, "reach %d: %s", reach, rondo_error_message());
    for (int i = 0; i < 8; i++)
        ET_OK(rondo_buffer_destroy(out[i]));
    ET_OK(rondo_buffer_destroy(in));
    ET_OK(rondo_exec_destroy(exec));
    ET_OK(rondo_subgraph_destroy(g));
    ET_CLOSE(rt);
}

Test(check, chunks_and_tracks, .timeout = 60)
{
    setenv("RONDO_CHECK", "access", 1);
    chunks(1, RONDO_OK);
    chunks(700, RONDO_ERR_FAILED); /* reads pages that its halo does not reach */
}

/* ---- the environment */

static void gather(void *context, const char *text)
{
    char *page = context;
    snprintf(page + strlen(page), 8192 - strlen(page), "%s", text);
}

Test(check, says_what_it_does, .timeout = 60)
{
    char page[8192] = "";
    struct rig r;
    rondo_node_info info;
    rondo_node node;
    setenv("RONDO_CHECK", "access", 1);
    open_rig(&r, NULL, NULL);
    node = rondo_record_task(
        r.g, &(rondo_task_desc){ .fn = nothing, .on = RONDO_CPU(1), .flags = RONDO_NO_ACCESS });
    ET_HANDLE(node);
    setenv("RONDO_CHECK", "excess", 1);
    ET_IS(rondo_instantiate(r.g, NULL, &r.exec), RONDO_ERR_INVALID);
    ET_SAYS("RONDO_CHECK is 'excess'");
    setenv("RONDO_CHECK", "access", 1);
    ET_OK(rondo_instantiate(
        r.g, &(rondo_instantiate_options){ .mode = RONDO_COMPILED, .order = RONDO_PIPELINED },
        &r.exec));
    ET_OK(rondo_exec_set_mode(r.exec, RONDO_COMPILED));
    ET_OK(rondo_replay_and_wait(r.exec, &(rondo_replay_args){ .count = 10 }, -1, NULL));
    ET_OK(rondo_exec_node_info(r.exec, node, &info));
    cr_assert(info.interpreted && info.lane == 0);
    ET_OK(rondo_exec_describe(r.exec, gather, page));
    cr_assert(strstr(page, "RONDO_CHECK=access, nodes one by one"), "%s", page);
    close_rig(&r);
    /* A blocking task runs beside others, so that nothing can be protected. */
    open_rig(&r, NULL, NULL);
    ET_HANDLE(rondo_record_task(
        r.g, &(rondo_task_desc){ .fn = nothing, .flags = RONDO_MAY_BLOCK | RONDO_NO_ACCESS }));
    r.t.read = r.at[1];
    record_touch(&r, NULL, 0, RONDO_NO_ACCESS);
    ET_OK(rondo_replay_and_wait(r.exec, NULL, -1, NULL));
    page[0] = 0;
    ET_OK(rondo_exec_describe(r.exec, gather, page));
    cr_assert(strstr(page, "RONDO_CHECK=access is off: "), "%s", page);
    close_rig(&r);
}
