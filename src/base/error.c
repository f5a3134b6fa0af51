/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char message[RD_MESSAGE_BYTES];

rondo_status rd_error(rondo_status status, const char *format, ...)
{
    va_list args;
    char text[RD_MESSAGE_BYTES]; /* an argument may be the old message */
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(message, sizeof message, "%s", text);
    return status;
}

const char *rd_error_text(void) { return message; }

const char *rondo_status_string(rondo_status status)
{
    switch (status) {
#define TEXT(name, value, text) \
    case name: return text;
        RONDO_STATUSES(TEXT)
#undef TEXT
    default: return "unknown status";
    }
}

void rd_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "rondo: %s:%d: broken invariant: %s\n", file, line, what);
    abort();
}
