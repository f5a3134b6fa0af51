/* SPDX-License-Identifier: BSD-3-Clause */
/* What rondo_exec_describe writes to, line by line. */
#ifndef RD_EXEC_PAGE_H
#define RD_EXEC_PAGE_H

struct rd_page {
    void (*write)(void *context, const char *text);
    void *context;
};

/* Formatted text, without a line's end of its own. */
void rd_page_line(const struct rd_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
