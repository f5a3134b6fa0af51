/* SPDX-License-Identifier: BSD-3-Clause */
/* Each thread's last error message. */
#ifndef RD_BASE_ERROR_H
#define RD_BASE_ERROR_H

#include <rondo/base.h>

enum { RD_MESSAGE_BYTES = 512 };

/* Formats this thread's message and returns `status`. */
rondo_status rd_error(rondo_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *rd_error_text(void);

/* What we did wrong: prints the condition and aborts, in every build. */
_Noreturn void rd_assert_failed(const char *what, const char *file, int line);
#define RD_ASSERT(x) ((x) ? (void)0 : rd_assert_failed(#x, __FILE__, __LINE__))
/* Only in debug builds. */
#ifdef RD_DEBUG
#define RD_DEBUG_ASSERT(x) RD_ASSERT(x)
#else
#define RD_DEBUG_ASSERT(x) ((void)sizeof(x))
#endif

#endif
