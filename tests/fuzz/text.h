/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts made from a fuzzer's bytes, for the targets that read files: raw, of a dictionary's words,
 * or a whole file with something put in it. And a main that makes its own bytes. */
#ifndef TESTS_FUZZ_TEXT_H
#define TESTS_FUZZ_TEXT_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_TEXT = 16384 };

struct fuzz_text {
    const uint8_t *at, *end;
    size_t length;
    char text[FUZZ_TEXT];
};

static uint32_t fuzz_take(struct fuzz_text *t) { return t->at < t->end ? *t->at++ : 0; }
static uint32_t fuzz_below(struct fuzz_text *t, uint32_t n) { return fuzz_take(t) % n; }

static void fuzz_put(struct fuzz_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fuzz_put(struct fuzz_text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(t->text + t->length, FUZZ_TEXT - t->length, format, arguments);
    va_end(arguments);
    t->length += more > 0 ? (size_t)more : 0;
    if (t->length >= FUZZ_TEXT)
        t->length = FUZZ_TEXT - 1;
}

static void fuzz_raw(struct fuzz_text *t)
{
    t->length = (size_t)(t->end - t->at) < FUZZ_TEXT ? (size_t)(t->end - t->at) : FUZZ_TEXT;
    if (t->length)
        memcpy(t->text, t->at, t->length);
}

static void fuzz_words(struct fuzz_text *t, const char *const *words, uint32_t count)
{
    while (t->at < t->end)
        fuzz_put(t, "%s", words[fuzz_below(t, count)]);
}

/* A word put over, a byte changed, or the end cut off, up to three times. */
static void fuzz_damage(struct fuzz_text *t, const char *const *words, uint32_t count)
{
    for (uint32_t n = fuzz_below(t, 4); n && t->length; n--) {
        uint32_t how = fuzz_below(t, 4);
        size_t at = (fuzz_take(t) << 8 | fuzz_take(t)) % t->length;
        const char *word = words[fuzz_below(t, count)];
        size_t room = t->length - at, length = strlen(word) < room ? strlen(word) : room;
        if (how == 0)
            t->text[at] = (char)fuzz_take(t);
        else if (how == 1)
            t->length = at;
        else
            memcpy(t->text + at, word, length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZ_ALONE
static struct {
    unsigned long read, refused;
} fuzz_made;

int main(int argc, char **argv)
{
    unsigned long executions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (unsigned long i = 0; i < executions; i++) {
        uint8_t data[256];
        uint64_t r = (seed + i) * 0x9e3779b97f4a7c15u;
        for (size_t k = 0; k < sizeof data; k++) {
            r ^= r << 13;
            r ^= r >> 7;
            r ^= r << 17;
            data[k] = (uint8_t)(r >> 32);
        }
        LLVMFuzzerTestOneInput(data, 1 + (size_t)(r % (sizeof data - 1)));
    }
    printf("%lu executions, %lu graphs read, %lu texts refused\n", executions, fuzz_made.read,
           fuzz_made.refused);
    /* Both happen, or the texts are not what they should be. */
    return executions >= 1000 && (!fuzz_made.read || !fuzz_made.refused);
}
#define FUZZ_COUNT(what) (fuzz_made.what++)
#else
#define FUZZ_COUNT(what) ((void)0)
#endif

#endif
