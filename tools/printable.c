/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes text of hostile files fit for a terminal. */
#include "tools/file.h"

/* How many bytes a character of UTF-8 has that begins so; 1 for what begins none. */
static size_t length_of(unsigned char c)
{
    return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
}

static int is_whole(const char *text, size_t length)
{
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return 1;
}

/* C0 and C1 control characters, and bytes that begin no character. */
static int is_plain(const char *text, size_t length)
{
    unsigned char c = (unsigned char)*text;
    if (length == 1)
        return c >= 0x20 && c < 0x7f;
    return is_whole(text, length) && !(c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

void file_printable(const char *text, char *shown, size_t shown_bytes)
{
    size_t used = 0;
    while (*text) {
        size_t length = length_of((unsigned char)*text);
        int plain = is_plain(text, length);
        length = plain ? length : 1;
        if (used + length + (text[length] ? 4 : 1) > shown_bytes) {
            for (int i = 0; i < 3 && used + 1 < shown_bytes; i++)
                shown[used++] = '.';
            break;
        }
        for (size_t i = 0; i < length; i++)
            shown[used++] = plain ? text[i] : '?';
        text += length;
    }
    shown[used] = '\0';
}
