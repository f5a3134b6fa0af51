/* SPDX-License-Identifier: BSD-3-Clause */
/* How much a test with random or repeated parts does. */
#ifndef RD_TESTS_SUPPORT_SCALE_H
#define RD_TESTS_SUPPORT_SCALE_H

#include <stdint.h>

/* `count` scaled by the environment's RONDO_TEST_SCALE, in percent (100 when unset); at least 1.
 * Sanitizer builds set it below 100, long runs above. */
uint64_t rd_test_scaled(uint64_t count);

#endif
