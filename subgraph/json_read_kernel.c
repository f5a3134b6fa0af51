/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels and their images out of a file. */
#include "subgraph/json_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- images */

rondo_status rd_read_image_part(struct rd_reader *r, const struct rd_json *tree)
{
    const char *text = NULL;
    char who[64];
    uint32_t index;
    int given = 0;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_IMAGE, 0, "an image");
    if (!status)
        status = rd_read_text(r, tree, "text", &text);
    if (!status)
        status = rd_read_hex(r, tree, "bytes", &given);
    if (!status && (text != NULL) == given)
        status = rd_read_refuse(r, NULL, "%s",
                                text ? "both a text and bytes" : "neither a text nor bytes");
    if (!status && !RD_READ_ROOM(r, images, 1))
        status = rd_read_no_memory(r);
    if (status)
        return status;
    snprintf(who, sizeof who, "image %" PRIu64, r->index);
    status = given ? rd_image_add(r->g, who, r->bytes.item, r->bytes.count, &index)
                   : rd_image_add(r->g, who, text, strlen(text), &index);
    if (!status) /* equal ones of the file are one */
        r->images.item[r->images.count++] = index;
    return rd_read_told(r, status);
}

/* ---- arguments */

/* What the only key of an argument says. */
static rondo_status read_arg(struct rd_reader *r, const struct rd_json *tree, rondo_kernel_arg *a)
{
    uint64_t number = 0;
    uint32_t given = 0, i, kind = 0;
    int bytes;
    rondo_status status = rd_read_keys(r, tree, RD_JSON_ARG, 0, "an argument");
    memset(a, 0, sizeof *a);
    for (i = 0; rd_json_arg_kinds[i].word; i++)
        if (rd_json_get(tree, rd_json_arg_kinds[i].word)) {
            given++;
            kind = rd_json_arg_kinds[i].value;
        }
    if (!status && given != 1)
        status = rd_read_refuse(r, NULL,
                                "%u of 'access', 'value', 'param', 'param_address' and "
                                "'local', not one",
                                given);
    if (status)
        return status;
    a->kind = kind;
    switch (kind) {
    case RONDO_ARG_ACCESS: return rd_read_u32(r, tree, "access", &a->index);
    case RONDO_ARG_PARAM: return rd_read_param(r, tree, "param", &a->param);
    case RONDO_ARG_PARAM_ADDRESS: return rd_read_param(r, tree, "param_address", &a->param);
    case RONDO_ARG_LOCAL: status = rd_read_u64(r, tree, "local", UINT32_MAX, &number); break;
    default: status = rd_read_hex(r, tree, "value", &bytes); break;
    }
    a->bytes = kind == RONDO_ARG_LOCAL ? (size_t)number : r->bytes.count;
    return status;
}

/* Values stand one after the other, and are pointed to once the last is there. */
static rondo_status keep_value(struct rd_reader *r, const rondo_kernel_arg *a)
{
    if (a->kind != RONDO_ARG_VALUE || !a->bytes)
        return RONDO_OK;
    if (!RD_READ_ROOM(r, values, a->bytes))
        return rd_read_no_memory(r);
    memcpy(r->values.item + r->values.count, r->bytes.item, a->bytes);
    r->values.count += a->bytes;
    return RONDO_OK;
}

static void point_at_values(struct rd_reader *r)
{
    static const char none;
    size_t i, at = 0;
    for (i = 0; i < r->args.count; i++) {
        rondo_kernel_arg *a = &r->args.item[i];
        if (a->kind != RONDO_ARG_VALUE)
            continue;
        a->value = a->bytes ? (const void *)(r->values.item + at) : &none;
        at += a->bytes;
    }
}

static rondo_status read_args(struct rd_reader *r, const struct rd_json *tree)
{
    const struct rd_json *list, *v = NULL;
    size_t i, n;
    rondo_status status = rd_read_list(r, tree, "args", &list);
    r->args.count = r->values.count = 0;
    n = !status && list ? rd_json_count(list) : 0;
    if (!RD_READ_ROOM(r, args, n))
        return rd_read_no_memory(r);
    for (i = 0; i < n && !status; i++) {
        status = rd_read_tree_at(r, list, "args", i, &v);
        rd_read_enter(r, "args", (int64_t)i);
        if (!status)
            status = read_arg(r, v, &r->args.item[i]);
        if (!status)
            status = keep_value(r, &r->args.item[i]);
        rd_read_leave(r);
        r->args.count++;
    }
    if (!status)
        point_at_values(r);
    return status;
}

/* ---- kernels */

static rondo_status read_items(struct rd_reader *r, const struct rd_json *tree,
                               rondo_kernel_desc *d)
{
    int64_t items[3] = { 0, 0, 0 }, group[3] = { 0, 0, 0 };
    const struct rd_json *list = NULL;
    uint32_t i;
    rondo_status status = rd_read_need(r, tree, "global");
    if (!status)
        status = rd_read_numbers(r, tree, "global", 3, items);
    if (!status)
        status = rd_read_numbers(r, tree, "local", 3, group);
    if (!status)
        status = rd_read_list(r, tree, "global", &list);
    d->dimensions = !status && list ? (uint32_t)rd_json_count(list) : 0;
    for (i = 0; i < 3; i++) {
        d->global[i] = (uint64_t)items[i];
        d->local[i] = (uint64_t)group[i];
    }
    return status;
}

static rondo_status find_image(struct rd_reader *r, const struct rd_json *tree, uint32_t *image)
{
    uint64_t number = 0;
    rondo_status status = rd_read_need(r, tree, "image");
    if (!status)
        status = rd_read_u64(r, tree, "image", INT64_MAX, &number);
    if (!status && number >= r->images.count)
        status = rd_read_refuse(r, "image", "image %" PRIu64 " of %zu", number, r->images.count);
    if (!status)
        *image = r->images.item[number];
    return status;
}

/* All that the file says; the lists are the reader's. */
static rondo_status read_desc(struct rd_reader *r, const struct rd_json *tree, rondo_kernel_desc *d)
{
    struct rd_read_traits t = { 0 };
    rondo_status status = rd_read_traits(r, tree, &t);
    if (!status)
        status = rd_read_need(r, tree, "format");
    if (!status)
        status = rd_read_need(r, tree, "entry");
    if (!status)
        status = rd_read_word(r, tree, "format", rd_json_formats, &d->format);
    if (!status)
        status = rd_read_flags(r, tree, &d->flags);
    if (!status)
        status = rd_read_accesses(r, tree);
    if (!status)
        status = rd_read_text(r, tree, "entry", &d->entry);
    if (!status)
        status = rd_read_text(r, tree, "options", &d->options);
    if (!status)
        status = read_args(r, tree);
    if (!status)
        status = read_items(r, tree, d);
    d->tag = t.tag;
    d->on = t.on;
    d->priority = t.priority;
    d->cost_ns = t.cost_ns;
    d->args = r->args.item;
    d->arg_count = (uint32_t)r->args.count;
    d->accesses = r->accesses.item;
    d->access_count = (uint32_t)r->accesses.count;
    d->after = r->after.item;
    d->after_count = (uint32_t)r->after.count;
    d->when = r->whens.item[0];
    return status;
}

rondo_status rd_read_kernel(struct rd_reader *r, const struct rd_json *tree, const char *name,
                            rondo_node *node)
{
    rondo_kernel_desc d;
    uint32_t image = 0;
    rondo_status status;
    memset(&d, 0, sizeof d);
    d.name = name;
    status = find_image(r, tree, &image);
    if (!status)
        status = read_desc(r, tree, &d);
    if (status)
        return status;
    status = rd_read_told(r, rd_record_kernel_of(r->g, &d, &image, node));
    return status ? status : rd_read_exact(r);
}
