/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/log.h"

#include <rondo/runtime.h>
#include <stdarg.h>
#include <stdio.h>

void rd_log(const struct rd_log *log, int level, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (log->write)
        log->write(log->context, level, text);
    else if (level <= RONDO_LOG_WARNING)
        fprintf(stderr, "rondo: %s\n", text);
}
