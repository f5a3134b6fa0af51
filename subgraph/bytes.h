/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes as bytes: whether two share any. */
#ifndef RD_SUBGRAPH_BYTES_H
#define RD_SUBGRAPH_BYTES_H

#include "subgraph/subgraph.h"

/* Boxes of elements at known addresses. Exact. */
int rd_bytes_overlap(uint64_t a_base, const rondo_shape *a_shape, const rd_box *a, uint64_t b_base,
                     const rondo_shape *b_shape, const rd_box *b);
/* Whether two slots' boxes share bytes in any replay. Of slots bound per replay only the same slot
 * is known to. */
int rd_slots_overlap(const struct rd_subgraph *g, uint32_t a_slot, const rd_box *a, uint32_t b_slot,
                     const rd_box *b);

#endif
