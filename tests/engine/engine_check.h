/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions about calls of Rondo, with what it had to say. */
#ifndef TESTS_ENGINE_ENGINE_CHECK_H
#define TESTS_ENGINE_ENGINE_CHECK_H

#include "tests/engine/engine_util.h"

#include <criterion/criterion.h>
#include <string.h>

/* The call succeeds. */
#define ET_OK(call) \
    cr_assert((call) == RONDO_OK, "%s:%d: %s: %s", __FILE__, __LINE__, #call, rondo_error_message())
/* The builder's handle is one. */
#define ET_HANDLE(handle) \
    cr_assert((handle).id != 0, "%s:%d: %s: %s", __FILE__, __LINE__, #handle, rondo_error_message())
/* The call returns `status`. */
#define ET_IS(call, status)                                                                       \
    do {                                                                                          \
        rondo_status et_got_ = (call);                                                            \
        cr_assert(et_got_ == (status), "%s:%d: %s: '%s' instead of '%s': %s", __FILE__, __LINE__, \
                  #call, rondo_status_string(et_got_), rondo_status_string(status),               \
                  rondo_error_message());                                                         \
    } while (0)
/* The last refused call's message names this. */
#define ET_SAYS(text)                                                                       \
    cr_assert(strstr(rondo_error_message(), (text)), "%s:%d: '%s' is not in: %s", __FILE__, \
              __LINE__, (text), rondo_error_message())
/* The runtime closes with nothing left. */
#define ET_CLOSE(runtime)                                                                \
    do {                                                                                 \
        const char *et_left_ = et_close_clean(runtime);                                  \
        cr_assert(!et_left_, "%s:%d: %s", __FILE__, __LINE__, et_left_ ? et_left_ : ""); \
    } while (0)

#endif
