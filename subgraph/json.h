/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings as JSON: the words of the format (docs/graph-file.md), common to writer and reader. */
#ifndef RD_SUBGRAPH_JSON_H
#define RD_SUBGRAPH_JSON_H

#include "subgraph/subgraph.h"

enum { RD_JSON_VERSION = 1 };

/* The objects that a file is made of. */
enum rd_json_object {
    RD_JSON_FILE,
    RD_JSON_BUFFER,
    RD_JSON_SHAPE,
    RD_JSON_SLOT,
    RD_JSON_PARAM,
    RD_JSON_IMAGE,
    RD_JSON_NODE,
    RD_JSON_ACCESS,
    RD_JSON_SIDE, /* `from` and `to` of a copy */
    RD_JSON_REGION,
    RD_JSON_PATCH,
    RD_JSON_ARG, /* of a kernel */
    RD_JSON_WHEN,
    RD_JSON_EDGE,
    RD_JSON_OBJECTS
};

/* A key, and for which kinds of the object it is (bits by kind; all ones: for each). */
struct rd_json_key {
    const char *key;
    uint32_t kinds;
};
struct rd_json_keys {
    const char *name; /* of the object, as in docs/graph-file.schema.json */
    const struct rd_json_key *keys;
    uint32_t count;
};
extern const struct rd_json_keys rd_json_objects[RD_JSON_OBJECTS];

/* Words for values, ended by one of NULL. */
struct rd_json_word {
    const char *word;
    uint32_t value;
};
extern const struct rd_json_word rd_json_node_kinds[], rd_json_slot_kinds[], rd_json_modes[],
    rd_json_types[], rd_json_ops[], rd_json_flags[], rd_json_formats[],
    rd_json_arg_kinds[] /* each a key of RD_JSON_ARG */;
/* The word for a value that has one. */
const char *rd_json_word_of(const struct rd_json_word *words, uint32_t value);
/* The name of a node that has none given; of a kernel it is its entry. */
const char *rd_json_default_name(uint32_t node_kind);

/* Slots and parameters by name. A table of the caller's, zero at first, freed by rd_names_free. */
struct rd_names {
    uint32_t *at; /* index + 1; the top bit: several have that name */
    size_t size, count;
    uint64_t seed;
};
enum { RD_NAME_NONE = 0x7fffffff, RD_NAME_SEVERAL = 0x7ffffffe };
/* Gives the text at `name` of g's names to `index`; 0: no memory. `names`: that of index i is at
 * names + i * stride, of all that were added. */
int rd_names_add(const struct rd_subgraph *g, struct rd_names *t, const void *names, size_t stride,
                 uint32_t index);
uint32_t rd_names_find(const struct rd_subgraph *g, const struct rd_names *t, const void *names,
                       size_t stride, const char *text);
void rd_names_free(const struct rd_subgraph *g, struct rd_names *t);

#endif
