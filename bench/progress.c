/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of progress on a terminal. */
#include "bench/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void progress_show(const char *format, ...)
{
    static int terminal = -1;
    va_list args;
    if (terminal < 0)
        terminal = isatty(STDERR_FILENO);
    if (!terminal)
        return;
    fputs("\r\033[K", stderr);
    if (format) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
    fflush(stderr);
}
