/* SPDX-License-Identifier: BSD-3-Clause */
/* What closing a runtime needs to know of a loop. */
#ifndef RD_API_LOOP_H
#define RD_API_LOOP_H

#include "src/machine/runtime.h"

struct rd_loop;
struct rd_runtime *rd_loop_runtime(const struct rd_loop *l);

#endif
