/* SPDX-License-Identifier: BSD-3-Clause */
/* Text handed to a `write` function in pieces, and what JSON asks of strings. */
#ifndef RD_BASE_JSON_WRITE_H
#define RD_BASE_JSON_WRITE_H

#include <stddef.h>

/* Texts are gathered to pieces of about RD_JSON_PIECE bytes. */
enum { RD_JSON_PIECE = 4096, RD_JSON_LONGEST = 512 };

struct rd_json_out {
    void (*write)(void *context, const char *text);
    void *context;
    size_t used;
    char text[RD_JSON_PIECE + RD_JSON_LONGEST];
};

/* At most RD_JSON_LONGEST - 1 characters. */
void rd_json_put(struct rd_json_out *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As it is, of any length. */
void rd_json_raw(struct rd_json_out *o, const char *text);
/* The inside of a string. Bytes that are no UTF-8 become the replacement character. */
void rd_json_text(struct rd_json_out *o, const char *text);
/* The inside of a string: two digits per byte. */
void rd_json_hex(struct rd_json_out *o, const void *bytes, size_t count);
/* Writes what is gathered. */
void rd_json_flush(struct rd_json_out *o);

/* Whether rd_json_text loses nothing of it, and it holds no replacement character of its own. */
int rd_json_is_exact(const char *text);

#endif
