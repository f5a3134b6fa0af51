/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/machine/work.h"

#include "src/base/os.h"

int rd_unmet_is_met(const struct rd_unmet *u)
{
    if (u->word && rd_load_acquire(u->word) >= u->need) /* pairs with whoever raises it */
        return 1;
    return u->until_ns && rd_os.now_ns() >= u->until_ns;
}
