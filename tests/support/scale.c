/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/scale.h"

#include <stdlib.h>

uint64_t rd_test_scaled(uint64_t count)
{
    const char *text = getenv("RONDO_TEST_SCALE");
    double percent = text ? strtod(text, NULL) : 100;
    double scaled = (double)count * (percent > 0 ? percent : 100) / 100;
    return scaled >= 1 ? (uint64_t)scaled : 1;
}
