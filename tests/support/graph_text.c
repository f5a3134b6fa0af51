/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/graph_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void graph_text_append(void *to, const char *piece)
{
    struct graph_text *t = to;
    size_t n = strlen(piece);
    if (t->bytes + n + 1 > t->room) {
        t->room = 2 * (t->bytes + n + 1);
        t->text = realloc(t->text, t->room);
        if (!t->text)
            abort();
    }
    memcpy(t->text + t->bytes, piece, n + 1);
    t->bytes += n;
}

rondo_status graph_text_of(rondo_subgraph subgraph, struct graph_text *text)
{
    text->bytes = 0;
    return rondo_subgraph_write_json(subgraph, graph_text_append, text);
}

static void see_node(void *context, uint32_t number, const rondo_recorded_node *n)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "node %" PRIu32 " '%.60s' kind %u tag %" PRIu64 " cost %g flags %x on %x%s\n",
                   number, n->name, n->kind, n->tag, n->cost_ns, n->flags, n->on,
                   n->conditional ? " when" : "");
    graph_text_append(context, line);
}

static void see_edge(void *context, const rondo_recorded_edge *e)
{
    char line[160];
    (void)snprintf(line, sizeof line, "edge %u to %u in %u by %s '%.60s'\n", e->from, e->to,
                   e->distance, e->by_hand ? "hand" : "access", e->slot ? e->slot : "");
    graph_text_append(context, line);
}

rondo_status graph_text_seen(rondo_subgraph subgraph, struct graph_text *text)
{
    text->bytes = 0;
    return rondo_subgraph_visit(subgraph, see_node, see_edge, text);
}

static rondo_status give_counter(void *context, uint32_t number, rondo_counter *counter)
{
    *counter = ((const rondo_counter *)context)[number];
    return RONDO_OK;
}

static char why[512];

static const char *failed(const char *what)
{
    (void)snprintf(why, sizeof why, "%s: %s", what, rondo_error_message());
    return why;
}

/* The first line that is not the same. */
static const char *differ(const char *what, const char *a, const char *b)
{
    size_t i = 0, line = 0;
    while (a[i] && a[i] == b[i]) {
        if (a[i] == '\n')
            line = i + 1;
        i++;
    }
    (void)snprintf(why, sizeof why, "%s: '%.*s' became '%.*s'", what,
                   (int)(strcspn(a + line, "\n") % 200), a + line,
                   (int)(strcspn(b + line, "\n") % 200), b + line);
    return a[i] || b[i] ? why : NULL;
}

static const char *compare(rondo_subgraph was, rondo_subgraph is, const char *json)
{
    struct graph_text a = { NULL, 0, 0 }, b = { NULL, 0, 0 };
    const char *wrong = NULL;
    rondo_status first, second;
    if (graph_text_of(is, &a))
        wrong = failed("writing again");
    else
        wrong = differ("text", json, a.text);
    /* Of a recording that cannot be pipelined there are no edges to compare. */
    first = wrong ? RONDO_OK : graph_text_seen(was, &a);
    second = wrong ? RONDO_OK : graph_text_seen(is, &b);
    if (first != second)
        wrong = failed("visiting");
    else if (!wrong && !first && a.bytes + b.bytes)
        wrong = differ("graph", a.text, b.text);
    free(a.text);
    free(b.text);
    return wrong;
}

const char *graph_text_round_trip(rondo_runtime runtime, rondo_subgraph subgraph,
                                  const rondo_counter *counter, struct graph_text *json)
{
    const rondo_read_options o = { .counter = give_counter, .context = (void *)(uintptr_t)counter };
    struct graph_text own = { NULL, 0, 0 }, *t = json ? json : &own;
    rondo_subgraph again = { 0 };
    const char *wrong = NULL;
    if (graph_text_of(subgraph, t))
        wrong = failed("writing");
    else if (rondo_subgraph_read_json(runtime, t->text, t->bytes, counter ? &o : NULL, &again))
        wrong = failed("reading");
    if (!wrong)
        wrong = compare(subgraph, again, t->text);
    if (again.id && rondo_subgraph_destroy(again))
        wrong = failed("destroying");
    free(own.text);
    return wrong;
}
