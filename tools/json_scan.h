/* SPDX-License-Identifier: BSD-3-Clause */
/* A look over JSON before it becomes a tree: how much memory that would take, and what is at the
 * top. */
#ifndef RONDO_TOOLS_JSON_SCAN_H
#define RONDO_TOOLS_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct json_scan {
    uint64_t tree_bytes; /* that Jansson would take, at least; of what is no JSON: of its start */
    int has_workflow;    /* the outermost object has such a member */
    int has_rondo;
};

struct json_scan json_scan(const char *text, size_t bytes);

#endif
