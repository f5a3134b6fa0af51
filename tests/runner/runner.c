/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs tests written with Criterion's macros without libcriterion, which does not work under
 * ThreadSanitizer and does not fail a test that leaks. Only Criterion's headers are used: this file
 * defines what their basic assertions call. It walks the sections in which the macros register
 * tests and suites and runs each test in a process of its own.
 *
 *   PROGRAM [--list] [--filter PATTERN]      PATTERN is a shell pattern over "suite/test"
 *
 * The last line is "N passed, N failed"; the exit status is 0 when a test matched and none
 * failed. A test fails by a failed assertion, an exit status or signal other than the expected one,
 * its time limit, a sanitizer's report, or memory it leaks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_LEAK_CHECK 1
#endif
#endif
#ifdef WITH_LEAK_CHECK
int __lsan_do_recoverable_leak_check(void);
#else
static int __lsan_do_recoverable_leak_check(void) { return 0; }
#endif

/* A time limit in a test is meant for an ordinary build; sanitizers cost this factor. */
static const double slower = 20;
static const double default_limit_s = 600;

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
/* A program without TestSuite() has no such section. */
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* What a test's process tells the runner's. */
struct outcome {
    atomic_uint failed_assertions;
    atomic_uint skipped, leaked;
};

static struct outcome *outcome;
/* In the test's process. */
static struct criterion_test *current;
static struct criterion_suite *current_suite;
static jmp_buf leave;
static _Thread_local int may_leave; /* this thread is the one inside setjmp(leave) */

/* ---- what Criterion's macros call */

struct criterion_options criterion_options;

void cri_asserts_passed_incr(void) {}
void criterion_continue_test(void) {}

void criterion_send_assert(struct criterion_assert_stats *assertion)
{
    if (assertion->passed)
        return;
    atomic_fetch_add(&outcome->failed_assertions, 1);
    fprintf(stderr, "%s:%u: assertion failed: %s\n", assertion->file, assertion->line,
            assertion->message ? assertion->message : "");
}

/* The test goes no further. Another thread than the test's own cannot unwind it, so it ends the
 * process, which has been marked as failed or skipped before. */
static _Noreturn void leave_test(void)
{
    if (may_leave)
        longjmp(leave, 1);
    fflush(NULL);
    _exit(1);
}

void criterion_abort_test(void) { leave_test(); }

void criterion_test_die(const char *message, ...)
{
    va_list arguments;
    atomic_fetch_add(&outcome->failed_assertions, 1);
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    leave_test();
}

void criterion_skip_test(const char *format, ...)
{
    va_list arguments;
    atomic_store(&outcome->skipped, 1);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    leave_test();
}

void cr_log(enum criterion_severity severity, const char *message, ...)
{
    va_list arguments;
    (void)severity;
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

int cr_vasprintf(char **text, const char *format, va_list arguments)
{
    return vasprintf(text, format, arguments);
}

int cr_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vasprintf(text, format, arguments);
    va_end(arguments);
    if (length < 0)
        *text = NULL;
    return length;
}

void cr_asprintf_free(char *text) { free(text); }

/* What an assertion says that comes without a message of its own: its expression, and for strings
 * the two compared. */
char *cr_translate_assert_msg(int kind, ...)
{
    va_list arguments;
    const char *expression, *actual = NULL, *expected = NULL;
    char *text = NULL;
    va_start(arguments, kind);
    expression = va_arg(arguments, const char *);
    if (kind == CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE) {
        actual = va_arg(arguments, const char *);
        expected = va_arg(arguments, const char *);
    }
    va_end(arguments);
    if (kind == CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE)
        cr_asprintf(&text, "%s: \"%s\" and \"%s\"", expression, actual ? actual : "(null)",
                    expected ? expected : "(null)");
    else if (kind == CRITERION_ASSERT_MSG_IS_NULL)
        cr_asprintf(&text, "%s is NULL", expression);
    else if (kind == CRITERION_ASSERT_MSG_IS_NOT_NULL)
        cr_asprintf(&text, "%s is not NULL", expression);
    else
        cr_asprintf(&text, "%s", expression);
    return text;
}

/* ---- one test, in its own process */

static void run_guarded(void (*fn)(void))
{
    if (!fn)
        return;
    may_leave = 1;
    if (!setjmp(leave))
        fn();
    may_leave = 0;
}

void criterion_internal_test_setup(void)
{
    if (current_suite && current_suite->data)
        run_guarded(current_suite->data->init);
    run_guarded(current->data->init);
}

void criterion_internal_test_main(void (*fn)(void)) { run_guarded(fn); }

void criterion_internal_test_teardown(void)
{
    run_guarded(current->data->fini);
    if (current_suite && current_suite->data)
        run_guarded(current_suite->data->fini);
}

static _Noreturn void run_test(void)
{
    current->test();
    fflush(NULL);
    /* After a failed assertion memory may well be left over; that says nothing more. */
    if (!atomic_load(&outcome->failed_assertions) && !atomic_load(&outcome->skipped) &&
        __lsan_do_recoverable_leak_check()) {
        atomic_store(&outcome->leaked, 1);
        _exit(1);
    }
    /* exit and not _exit: ThreadSanitizer turns its reports into an exit status there. */
    exit(0);
}

/* ---- the runner's process */

static struct criterion_suite *suite_of(const struct criterion_test *test)
{
    struct criterion_suite **s;
    if (!__start_cr_sts)
        return NULL;
    for (s = __start_cr_sts; s < __stop_cr_sts; s++)
        if (*s && !strcmp((*s)->name, test->category))
            return *s;
    return NULL;
}

static double limit_s(void)
{
    if (current->data->timeout > 0)
        return current->data->timeout * slower;
    if (current_suite && current_suite->data && current_suite->data->timeout > 0)
        return current_suite->data->timeout * slower;
    return default_limit_s;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for the test's process, SIGCHLD being blocked; 0 when it ran past its limit and was
 * killed. */
static int wait_for(pid_t child, int *status)
{
    double end = now_s() + limit_s();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        double left = end - now_s();
        struct timespec t = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
        if (waitpid(child, status, WNOHANG) == child)
            return 1;
        if (left <= 0) {
            kill(child, SIGKILL);
            while (waitpid(child, status, 0) < 0 && errno == EINTR)
                ;
            return 0;
        }
        sigtimedwait(&set, NULL, &t);
    }
}

/* Why the test failed, or NULL. */
static const char *verdict(int in_time, int status, char *text, size_t bytes)
{
    unsigned failed = atomic_load(&outcome->failed_assertions);
    int expected_signal = current->data->signal, expected_exit = current->data->exit_code;
    if (!in_time)
        snprintf(text, bytes, "not over after %.0f s", limit_s());
    else if (failed)
        snprintf(text, bytes, "%u failed assertions", failed);
    else if (atomic_load(&outcome->leaked))
        snprintf(text, bytes, "leaked memory");
    else if (WIFSIGNALED(status) && WTERMSIG(status) != expected_signal)
        snprintf(text, bytes, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (!WIFSIGNALED(status) && expected_signal)
        snprintf(text, bytes, "not ended by signal %d as it should be", expected_signal);
    else if (!WIFSIGNALED(status) && WEXITSTATUS(status) != expected_exit)
        snprintf(text, bytes, "exit status %d instead of %d", WEXITSTATUS(status), expected_exit);
    else
        return NULL;
    return text;
}

/* Runs `current` and says how it went: 1 passed, 0 failed, -1 skipped. */
static int judge(const sigset_t *test_mask)
{
    char text[160];
    const char *why;
    int status = 0, in_time;
    double begin = now_s();
    pid_t child;
    if (current->data->disabled ||
        (current_suite && current_suite->data && current_suite->data->disabled)) {
        printf("[SKIP] %s/%s\n", current->category, current->name);
        return -1;
    }
    memset(outcome, 0, sizeof *outcome);
    fflush(NULL);
    child = fork();
    if (!child) {
        sigprocmask(SIG_SETMASK, test_mask, NULL);
        run_test();
    }
    if (child < 0) {
        printf("[FAIL] %s/%s: fork: %s\n", current->category, current->name, strerror(errno));
        return 0;
    }
    in_time = wait_for(child, &status);
    if (in_time && atomic_load(&outcome->skipped)) {
        printf("[SKIP] %s/%s\n", current->category, current->name);
        return -1;
    }
    why = verdict(in_time, status, text, sizeof text);
    printf("[%s] %s/%s (%.2f s)%s%s\n", why ? "FAIL" : "PASS", current->category, current->name,
           now_s() - begin, why ? ": " : "", why ? why : "");
    return !why;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [--list] [--filter PATTERN]\n", program);
    return 2;
}

int main(int argc, char **argv)
{
    const char *pattern = "*";
    unsigned matched = 0, passed = 0, failed = 0, list = 0;
    struct criterion_test **t;
    sigset_t set, old;
    int i;
    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--filter") && i + 1 < argc)
            pattern = argv[++i];
        else if (!strcmp(argv[i], "--list"))
            list = 1;
        else
            return usage(argv[0]);
    }
    outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    for (t = __start_cr_tst; t < __stop_cr_tst; t++) {
        char name[256];
        if (!*t)
            continue;
        current = *t;
        current_suite = suite_of(current);
        snprintf(name, sizeof name, "%s/%s", current->category, current->name);
        if (fnmatch(pattern, name, 0))
            continue;
        matched++;
        if (list) {
            puts(name);
            continue;
        }
        switch (judge(&old)) {
        case 1: passed++; break;
        case 0: failed++; break;
        default: break;
        }
        fflush(stdout);
    }
    if (list)
        return 0;
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !matched;
}
