/* SPDX-License-Identifier: BSD-3-Clause */
/* A file on its way into a recording: where in it the reader stands, and what its numbers and names
 * are. */
#ifndef RD_SUBGRAPH_JSON_READER_H
#define RD_SUBGRAPH_JSON_READER_H

#include "src/base/json_read.h"
#include "subgraph/json.h"
#include "subgraph/json_scan.h"
#include "subgraph/record.h"

/* One of the file's buffers. */
struct rd_read_buffer {
    uint32_t name;   /* in g's names */
    uint32_t memory; /* + 1; 0: it shares its bytes with none */
    uint64_t offset, line;
    size_t bytes;
    rondo_shape shape;        /* complete */
    struct rd_buffer *buffer; /* referenced */
};

/* The exact boxes of an access: none, or so many from `first` on. */
struct rd_read_boxes {
    size_t first;
    uint32_t count;
};

struct rd_reader {
    struct rd_subgraph *g;
    struct rd_allocator *a;
    const rondo_read_options *options;
    uint64_t most_bytes, most, spent; /* bytes of buffers and parameters */
    /* The lists of the file, by number of their keys; begin.at NULL: there is none. */
    struct rd_scan_value part[9];
    /* Where the reader stands, for messages: nodes[7] 'relax': accesses[1].region. */
    const char *list, *name;
    uint64_t index, line;
    struct {
        const char *key;
        int64_t index; /* -1: none */
    } path[4];
    uint32_t depth;
    RD_POOL(struct rd_read_buffer) buffers;
    struct rd_names slot_names, param_names;
    RD_POOL(struct rd_read_counter {
        rondo_counter counter;
        uint32_t known;
    })
    counters;
    RD_POOL(uint32_t) images; /* of the file: which of the recording's */
    /* Of the slot or node that is being read. */
    RD_POOL(struct rd_buffer *) ring;
    RD_POOL(rondo_access) accesses;
    RD_POOL(struct rd_read_boxes) boxes_of;
    RD_POOL(rondo_region) boxes;
    RD_POOL(rondo_param) params;
    RD_POOL(rondo_patch) patches;
    RD_POOL(rondo_node) after;
    RD_POOL(rondo_when) whens;
    RD_POOL(unsigned char) bytes;
    RD_POOL(rondo_kernel_arg) args;
    RD_POOL(unsigned char) values; /* of args */
};

/* Room for `more` items in one of the reader's pools; 0: no memory. */
#define RD_READ_ROOM(r, pool, more)                                                         \
    rd_grow((r)->a, (void **)&(r)->pool.item, &(r)->pool.capacity, (r)->pool.count, (more), \
            sizeof *(r)->pool.item)

/* ---- json_read.c */

/* INVALID: where the reader stands, the key (may be NULL), and what is wrong. */
rondo_status rd_read_refuse(const struct rd_reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a builder says, with where the reader stands before it. */
rondo_status rd_read_told(const struct rd_reader *r, rondo_status status);
/* What a callback has returned, with where the reader stands. */
rondo_status rd_read_stopped(const struct rd_reader *r, const char *callback, rondo_status status);
rondo_status rd_read_no_memory(const struct rd_reader *r);
/* Counts memory that a few digits ask for, against the limit. */
rondo_status rd_read_spend(struct rd_reader *r, const char *key, uint64_t bytes);

/* One step into the value: what is refused from here on is in key[index] (-1: in key). */
static inline void rd_read_enter(struct rd_reader *r, const char *key, int64_t index)
{
    r->path[r->depth].key = key;
    r->path[r->depth++].index = index;
}
static inline void rd_read_leave(struct rd_reader *r) { r->depth--; }

/* ---- json_value.c: members of an object. One that is missing leaves its output as it was. */

/* Refuses keys that the object does not have, or not of this kind, naming the nearest. */
rondo_status rd_read_keys(const struct rd_reader *r, const struct rd_json *tree,
                          enum rd_json_object object, uint32_t kind, const char *of);
/* Refuses a key that is none. */
rondo_status rd_read_unknown(const struct rd_reader *r, enum rd_json_object object, uint32_t kind,
                             const char *of, const char *key);
rondo_status rd_read_need(const struct rd_reader *r, const struct rd_json *tree, const char *key);
rondo_status rd_read_u64(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         uint64_t most, uint64_t *value);
rondo_status rd_read_u32(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         uint32_t *value);
rondo_status rd_read_i32(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                         int32_t *value);
rondo_status rd_read_real(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          double *value);
rondo_status rd_read_bool(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          int *value);
rondo_status rd_read_text(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const char **value);
rondo_status rd_read_word(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json_word *words, uint32_t *value);
rondo_status rd_read_list(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json **list);
rondo_status rd_read_tree(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          const struct rd_json **value);
/* Of an array: one element, `key` names the array. */
rondo_status rd_read_element(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, uint64_t most, uint64_t *value);
rondo_status rd_read_word_at(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, const struct rd_json_word *words, uint32_t *value);
rondo_status rd_read_tree_at(const struct rd_reader *r, const struct rd_json *list, const char *key,
                             size_t i, const struct rd_json **value);
/* Up to `room` numbers, the others 0. */
rondo_status rd_read_numbers(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                             uint32_t room, int64_t *value);
/* Bytes as digits, into r->bytes; *given: whether they are there. */
rondo_status rd_read_hex(struct rd_reader *r, const struct rd_json *tree, const char *key,
                         int *given);
/* A slot's or parameter's index, by number or name. */
rondo_status rd_read_slot(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                          rondo_slot *slot);
rondo_status rd_read_param(const struct rd_reader *r, const struct rd_json *tree, const char *key,
                           rondo_param *param);
rondo_status rd_read_param_at(const struct rd_reader *r, const struct rd_json *list,
                              const char *key, size_t i, rondo_param *param);
rondo_status rd_read_region(struct rd_reader *r, const struct rd_json *tree, const char *key,
                            rondo_region *region);
/* Of the tree itself. */
rondo_status rd_read_region_of(struct rd_reader *r, const struct rd_json *tree,
                               rondo_region *region);

/* ---- one part of the file each */

/* json_read_slot.c */
rondo_status rd_read_buffer_part(struct rd_reader *r, const struct rd_json *tree);
rondo_status rd_read_buffers_made(struct rd_reader *r); /* after the last */
rondo_status rd_read_slot_part(struct rd_reader *r, const struct rd_json *tree);
rondo_status rd_read_param_part(struct rd_reader *r, const struct rd_json *tree);
/* json_read_node.c */
rondo_status rd_read_node_part(struct rd_reader *r, const struct rd_json *tree);
struct rd_read_traits {
    uint64_t tag;
    rondo_processor on;
    int32_t priority;
    double cost_ns;
};
rondo_status rd_read_traits(struct rd_reader *r, const struct rd_json *tree,
                            struct rd_read_traits *t);
/* A device: "gpu 1"; *index: its number. */
rondo_status rd_read_device(struct rd_reader *r, const char *key, const char *text,
                            uint32_t *index);
/* json_read_task.c: a task, launch or call, whose `after` and `when` have been read. */
rondo_status rd_read_task(struct rd_reader *r, const struct rd_json *tree, enum rd_node_kind kind,
                          const char *name, rondo_node *node);
rondo_status rd_read_call(struct rd_reader *r, const char *name, rondo_node *node);
/* Into r->accesses and what belongs to them; behind the node's builder, their exact boxes. */
rondo_status rd_read_accesses(struct rd_reader *r, const struct rd_json *tree);
rondo_status rd_read_exact(struct rd_reader *r);
rondo_status rd_read_flags(struct rd_reader *r, const struct rd_json *tree, uint32_t *flags);
/* json_read_kernel.c */
rondo_status rd_read_image_part(struct rd_reader *r, const struct rd_json *tree);
rondo_status rd_read_kernel(struct rd_reader *r, const struct rd_json *tree, const char *name,
                            rondo_node *node);

#endif
