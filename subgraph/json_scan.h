/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in a JSON text the values of its two outer levels lie. So that a file is parsed a line or
 * so at a time, with the line known and in little memory whatever the text holds. */
#ifndef RD_SUBGRAPH_JSON_SCAN_H
#define RD_SUBGRAPH_JSON_SCAN_H

#include "src/base/error.h"

/* How deep values lie in each other, and how much a parser may need for one. */
enum { RD_SCAN_DEPTH = 16 };
#define RD_SCAN_MEMORY ((uint64_t)512 << 20)

/* A place in the text. */
struct rd_scan {
    const char *at, *end, *line_begin;
    uint64_t line; /* from 1 on */
};
/* A value: [begin.at, end). */
struct rd_scan_value {
    struct rd_scan begin;
    const char *end;
};

static inline uint64_t rd_scan_column(const struct rd_scan *s)
{
    return (uint64_t)(s->at - s->line_begin) + 1;
}
/* INVALID with "line 3, column 7: " before the message. */
rondo_status rd_scan_refuse(const struct rd_scan *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rd_scan_space(struct rd_scan *s);
/* Passes over this character, or refuses. */
rondo_status rd_scan_expect(struct rd_scan *s, char c);
/* Passes over a value, whose brackets pair by number but may be of different kinds: whoever parses
 * it sees to that. Refused where a tree of it may take more than `memory` bytes. */
rondo_status rd_scan_skip(struct rd_scan *s, uint64_t memory, struct rd_scan_value *value);

/* The elements of an array, of RD_SCAN_MEMORY each: *s begins before its bracket. 1: *value is the
 * next; 0: the end; the status in any case. `first` is 1 at first. */
int rd_scan_element(struct rd_scan *s, int *first, struct rd_scan_value *value,
                    rondo_status *status);

#endif
