/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording on its way into a file: what has numbers there that it has none of in memory. */
#ifndef RD_SUBGRAPH_JSON_WRITER_H
#define RD_SUBGRAPH_JSON_WRITER_H

#include "src/base/json_write.h"
#include "subgraph/json.h"

struct rd_json_writer {
    const struct rd_subgraph *g;
    struct rd_json_out out;
    struct rd_names slot_names, param_names;
    /* Buffers of slots, one slot after the other: use_first[slot] + k is the k-th of a slot. */
    size_t uses;
    size_t *use_first;
    uint32_t *buffer_of_use; /* numbers, by first use */
    struct rd_buffer **buffer;
    uint32_t buffers;
    /* By buffer: which memory it is a part of and where, RD_JSON_ALONE if no other shares its
     * bytes. Memories are numbered by their first buffer. */
    uint32_t *memory;
    uint64_t *offset;
    uint32_t *counter_of; /* by index in syncs */
    /* Edges by hand of distance 0 from an earlier node, in the order of recording: after[first[v]
     * .. first[v + 1]) are node v's. */
    uint32_t *after_first, *after;
};
enum { RD_JSON_ALONE = 0x7fffffff };

/* json_number.c. MEMORY; rd_json_numbers_free in any case. */
rondo_status rd_json_numbers_make(struct rd_json_writer *w);
void rd_json_numbers_free(struct rd_json_writer *w);
static inline int rd_json_is_after(const struct rd_hand_edge *e)
{
    return !e->distance && e->from < e->to;
}

/* json_write.c: `{"key": value` parts that several objects have; each begins with `before`. */
void rd_json_put_region(struct rd_json_writer *w, const char *before, const rondo_region *r,
                        const int64_t whole[3]);
void rd_json_put_number(struct rd_json_writer *w, const char *before, uint64_t value);
void rd_json_put_string(struct rd_json_writer *w, const char *before, const char *text);
void rd_json_put_slot(struct rd_json_writer *w, const char *before, uint32_t slot);
void rd_json_put_param(struct rd_json_writer *w, const char *before, uint32_t param);
/* json_write_kernel.c */
void rd_json_put_image(struct rd_json_writer *w, uint32_t image);
void rd_json_put_kernel(struct rd_json_writer *w, uint32_t node);
const struct rd_kernel *rd_json_kernel(const struct rd_subgraph *g, uint32_t node);
/* json_write_node.c */
void rd_json_put_node(struct rd_json_writer *w, uint32_t node);

#endif
