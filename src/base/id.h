/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: 8-byte ids with a generation, one table per process, never shrinking. */
#ifndef RD_BASE_ID_H
#define RD_BASE_ID_H

#include <rondo/base.h>

enum rd_id_type {
    RD_ID_NONE,
    RD_ID_RUNTIME,
    RD_ID_BUFFER,
    RD_ID_SUBGRAPH,
    RD_ID_EXEC,
    RD_ID_COUNTER,
    RD_ID_COMPLETION,
    RD_ID_LOOP
};

/* 0 when there is no memory. The object is visible to rd_id_find at once. */
uint64_t rd_id_new(enum rd_id_type type, void *object);
/* The object, or NULL. Only inside an RCU read section, and valid until its end. */
void *rd_id_find(uint64_t id, enum rd_id_type type);
/* Takes the id out: the object to exactly one caller, NULL to all others. Who freed the object
 * waits for a grace period first. */
void *rd_id_retire(uint64_t id, enum rd_id_type type);
/* The id names `object` instead of `was` from now on; 0: it is not `was` that it names. */
int rd_id_swap(uint64_t id, enum rd_id_type type, const void *was, void *object);
/* The next live id of a type after *cursor, which starts at 0 and moves on; 0 at the end. What it
 * finds may be retired at any time. */
uint64_t rd_id_next(enum rd_id_type type, uint32_t *cursor);
/* The status and message for an id that was not found: none, another type's, stale. */
rondo_status rd_id_error(uint64_t id, enum rd_id_type type);

#endif
