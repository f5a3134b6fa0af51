/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to the runtime's log hook. Never on the replay path. */
#ifndef RD_BASE_LOG_H
#define RD_BASE_LOG_H

struct rd_log {
    void (*write)(void *context, int level,
                  const char *message); /* NULL: stderr, errors and warnings */
    void *context;
};

void rd_log(const struct rd_log *log, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
