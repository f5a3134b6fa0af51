/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables, error messages and status texts. */
#include "src/base/env.h"
#include "src/base/error.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

Test(env, table)
{
    int i;
    for (i = 0; i < RD_ENV_COUNT; i++) {
        cr_assert_eq(strncmp(rd_env_table[i].name, "RONDO_", 6), 0);
        cr_assert_gt(strlen(rd_env_table[i].by_default), 0u, "%s", rd_env_table[i].name);
        cr_assert_gt(strlen(rd_env_table[i].range), 0u, "%s", rd_env_table[i].name);
        cr_assert_gt(strlen(rd_env_table[i].help), 0u, "%s", rd_env_table[i].name);
    }
}

Test(env, values)
{
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {
        { NULL, -7 },  { "", -7 },   { "0", 0 },   { "12", 12 }, { "100", 100 },
        { "101", -7 }, { "-1", -7 }, { "1x", -7 }, { "x", -7 },  { "99999999999999999999", -7 },
    };
    const char *name = rd_env_table[RD_ENV_RONDO_STALL_S].name;
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text;
        if (cases[i].text)
            setenv(name, cases[i].text, 1);
        else
            unsetenv(name);
        text = rd_env_text(RD_ENV_RONDO_STALL_S);
        if (cases[i].text && *cases[i].text)
            cr_assert_str_eq(text, cases[i].text);
        else
            cr_assert_null(text);
        cr_assert_eq(rd_env_number(RD_ENV_RONDO_STALL_S, 0, 100, -7), cases[i].number, "'%s'",
                     cases[i].text ? cases[i].text : "unset");
    }
}

static void *other_thread(void *unused)
{
    if (strcmp(rd_error_text(), ""))
        return NULL;
    rd_error(RONDO_ERR_FAILED, "theirs");
    return strcmp(rd_error_text(), "theirs") ? NULL : unused;
}

Test(error, messages)
{
    char text[2 * RD_MESSAGE_BYTES];
    pthread_t thread;
    void *fine;
    cr_assert_str_eq(rd_error_text(), "");
    cr_assert_eq(rd_error(RONDO_ERR_INVALID, "slot '%s': %d", "u", 3), RONDO_ERR_INVALID);
    cr_assert_str_eq(rd_error_text(), "slot 'u': 3");
    /* The old message may be part of the new one. */
    rd_error(RONDO_ERR_MEMORY, "exec 'e': %s", rd_error_text());
    cr_assert_str_eq(rd_error_text(), "exec 'e': slot 'u': 3");
    /* Each thread has its own. */
    cr_assert_eq(pthread_create(&thread, NULL, other_thread, text), 0);
    pthread_join(thread, &fine);
    cr_assert_eq(fine, (void *)text);
    cr_assert_str_eq(rd_error_text(), "exec 'e': slot 'u': 3");
    /* What is too long is cut. */
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    rd_error(RONDO_ERR_INVALID, "%s", text);
    cr_assert_eq(strlen(rd_error_text()), RD_MESSAGE_BYTES - 1u);
}

Test(error, statuses)
{
    rondo_status status, other;
    for (status = RONDO_OK; status <= RONDO_ERR_SYSTEM; status++) {
        cr_assert_gt(strlen(rondo_status_string(status)), 0u);
        for (other = RONDO_OK; other < status; other++)
            cr_assert_str_neq(rondo_status_string(status), rondo_status_string(other));
    }
    cr_assert_str_eq(rondo_status_string(-1), "unknown status");
    cr_assert_str_eq(rondo_status_string(9999), "unknown status");
}

Test(error, broken_invariant, .signal = SIGABRT) { RD_ASSERT(1 + 1 == 3); }
