/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base/env.h"

#include <errno.h>
#include <stdlib.h>

const struct rd_env_entry rd_env_table[RD_ENV_COUNT] = {
#define ROW(name, by_default, range, help) { #name, by_default, range, help },
    RD_ENVIRONMENT(ROW)
#undef ROW
};

const char *rd_env_text(enum rd_env variable)
{
    const char *text = getenv(rd_env_table[variable].name);
    return text && *text ? text : NULL;
}

int64_t rd_env_number(enum rd_env variable, int64_t low, int64_t high, int64_t otherwise)
{
    const char *text = rd_env_text(variable);
    char *end;
    long long value;
    if (!text)
        return otherwise;
    errno = 0;
    value = strtoll(text, &end, 10);
    return errno || *end || value < low || value > high ? otherwise : value;
}
