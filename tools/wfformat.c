/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads WfFormat, which may be hostile: Jansson checks the JSON and makes a tree whose size has
 * been bounded before; this file checks what the tree says of tasks. */
#include "tools/wfformat.h"
#include "tools/file.h"
#include "tools/json_scan.h"
#include "tools/order.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Edges found in one of the two places where a file tells them. */
struct edges {
    struct order_edge *item;
    size_t count, room;
};

struct reader {
    struct wf_error *error;
    enum wf_status status;
    const char *where; /* of the list of tasks, as messages say it */
    json_t *tasks;
    uint32_t count;
    json_t *ids, *names; /* text -> number of the task; of a name that repeats: -1 */
    struct edges by_parents, by_children, edges;
    double *seconds;
    uint8_t *known; /* KNOWS_... */
    uint32_t *first, *place, *circle;
};

enum { KNOWS_PARENTS = 1, KNOWS_CHILDREN = 2, KNOWS_TIME = 4 };

static int refuse(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Always -1, so that callers can return it. */
static int refuse(struct reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error->reason, sizeof r->error->reason, format, arguments);
    va_end(arguments);
    r->error->line = r->error->column = 0;
    r->status = WF_MALFORMED;
    return -1;
}

static int no_memory(struct reader *r)
{
    refuse(r, "out of memory");
    r->status = WF_NO_MEMORY;
    return -1;
}

/* ---- names */

struct shown {
    char text[72];
};

static struct shown show(const char *text)
{
    struct shown s;
    file_printable(text, s.text, sizeof s.text);
    return s;
}

static const char *id_of(const struct reader *r, uint32_t task)
{
    json_t *object = json_array_get(r->tasks, task), *id = json_object_get(object, "id");
    return json_string_value(id ? id : json_object_get(object, "name"));
}

static struct shown show_task(const struct reader *r, uint32_t task)
{
    return show(id_of(r, task));
}

/* The number of the task that `text` names, by its id or else its name; -1: none. */
static int64_t find(const struct reader *r, const char *text)
{
    json_t *number = json_object_get(r->ids, text);
    if (!number)
        number = json_object_get(r->names, text);
    return number ? (int64_t)json_integer_value(number) : -1;
}

static int take_name(struct reader *r, uint32_t task)
{
    json_t *object = json_array_get(r->tasks, task), *id = json_object_get(object, "id"),
           *name = json_object_get(object, "name");
    if (!json_is_object(object))
        return refuse(r, "%s[%" PRIu32 "] is no object", r->where, task);
    if ((id && !json_is_string(id)) || (name && !json_is_string(name)) || (!id && !name))
        return refuse(r, "%s[%" PRIu32 "]: \"id\" and \"name\" are texts, one at least", r->where,
                      task);
    if (json_object_get(r->ids, id_of(r, task)))
        return refuse(r, "%s[%" PRIu32 "]: a second task '%s'", r->where, task,
                      show_task(r, task).text);
    if (json_object_set_new(r->ids, id_of(r, task), json_integer(task)))
        return no_memory(r);
    if (id && name && strcmp(json_string_value(id), json_string_value(name)) != 0) {
        int64_t number = json_object_get(r->names, json_string_value(name)) ? -1 : (int64_t)task;
        if (json_object_set_new(r->names, json_string_value(name), json_integer(number)))
            return no_memory(r);
    }
    return 0;
}

/* ---- edges */

static int add_edge(struct reader *r, struct edges *edges, uint32_t from, uint32_t to)
{
    if (edges->count >= WF_MAX_EDGES)
        return refuse(r, "%s: more than %u parents or children in all", r->where, WF_MAX_EDGES);
    if (edges->count == edges->room) {
        size_t room = edges->room ? edges->room * 2 : 64;
        struct order_edge *grown = realloc(edges->item, room * sizeof *grown);
        if (!grown)
            return no_memory(r);
        edges->item = grown;
        edges->room = room;
    }
    edges->item[edges->count++] = (struct order_edge){ from, to };
    return 0;
}

/* One of the two lists of a task: "parents" or "children". */
static int take_list(struct reader *r, uint32_t task, int children)
{
    const char *key = children ? "children" : "parents", *what = children ? "child" : "parent";
    json_t *list = json_object_get(json_array_get(r->tasks, task), key), *entry;
    size_t i;
    if (!list)
        return 0;
    if (!json_is_array(list))
        return refuse(r, "task '%s': \"%s\" is no list", show_task(r, task).text, key);
    r->known[task] |= children ? KNOWS_CHILDREN : KNOWS_PARENTS;
    json_array_foreach(list, i, entry)
    {
        const char *text = json_string_value(entry);
        int64_t other = text ? find(r, text) : -1;
        if (other < 0)
            return refuse(r, "task '%s' names %s '%s', which is no task, or several",
                          show_task(r, task).text, what, text ? show(text).text : "(no text)");
        if (other == task)
            return refuse(r, "task '%s' names itself as a %s", show_task(r, task).text, what);
        if (children ? add_edge(r, &r->by_children, task, (uint32_t)other)
                     : add_edge(r, &r->by_parents, (uint32_t)other, task))
            return -1;
    }
    return 0;
}

static int refuse_twice(struct reader *r, const struct edges *edges)
{
    for (size_t i = 1; i < edges->count; i++)
        if (edges->item[i].from == edges->item[i - 1].from &&
            edges->item[i].to == edges->item[i - 1].to)
            return refuse(r, "the edge from task '%s' to task '%s' is named twice",
                          show_task(r, edges->item[i].from).text,
                          show_task(r, edges->item[i].to).text);
    return 0;
}

static int differ(struct reader *r, struct order_edge e, int in_children)
{
    return refuse(
        r,
        in_children ? "task '%s' names child '%s', whose parents do not name it"
                    : "task '%s' is named by the parents of '%s', and does not name it as a child",
        show_task(r, e.from).text, show_task(r, e.to).text);
}

/* Both lists in one, where they do not contradict each other. */
static int unite(struct reader *r)
{
    const struct edges *p = &r->by_parents, *c = &r->by_children;
    for (size_t i = 0, k = 0; i < p->count || k < c->count;) {
        struct order_edge e;
        int cmp = i == p->count ? 1 : k == c->count ? -1 : 0;
        if (!cmp && p->item[i].to != c->item[k].to)
            cmp = p->item[i].to < c->item[k].to ? -1 : 1;
        else if (!cmp && p->item[i].from != c->item[k].from)
            cmp = p->item[i].from < c->item[k].from ? -1 : 1;
        e = cmp > 0 ? c->item[k] : p->item[i];
        if (cmp < 0 && r->known[e.from] & KNOWS_CHILDREN)
            return differ(r, e, 0);
        if (cmp > 0 && r->known[e.to] & KNOWS_PARENTS)
            return differ(r, e, 1);
        if (add_edge(r, &r->edges, e.from, e.to))
            return -1;
        i += cmp <= 0;
        k += cmp >= 0;
    }
    return 0;
}

static int read_edges(struct reader *r)
{
    for (uint32_t t = 0; t < r->count; t++)
        if (take_list(r, t, 0) || take_list(r, t, 1))
            return -1;
    order_sort(r->by_parents.item, r->by_parents.count);
    order_sort(r->by_children.item, r->by_children.count);
    return refuse_twice(r, &r->by_parents) || refuse_twice(r, &r->by_children) || unite(r) ? -1 : 0;
}

/* ---- times */

static int take_time(struct reader *r, uint32_t task, const json_t *object, int old)
{
    const json_t *time = json_object_get(object, "runtimeInSeconds");
    if (!time && old)
        time = json_object_get(object, "runtime");
    if (!time || json_is_null(time))
        return 0;
    double seconds = json_number_value(time);
    if (!json_is_number(time))
        return refuse(r, "task '%s': its run time must be 0 to %g seconds, not something else",
                      show_task(r, task).text, WF_MAX_SECONDS);
    if (!(seconds >= 0 && seconds <= WF_MAX_SECONDS))
        return refuse(r, "task '%s': its run time must be 0 to %g seconds, not %.9g",
                      show_task(r, task).text, WF_MAX_SECONDS, seconds);
    r->seconds[task] = seconds;
    r->known[task] |= KNOWS_TIME;
    return 0;
}

static int read_execution(struct reader *r, const json_t *workflow)
{
    json_t *execution = json_object_get(workflow, "execution"),
           *list = json_object_get(execution, "tasks"), *object;
    size_t i;
    if (!execution)
        return 0;
    if (list && !json_is_array(list))
        return refuse(r, "workflow.execution.tasks is no list");
    json_array_foreach(list, i, object)
    {
        const char *id = json_string_value(json_object_get(object, "id"));
        int64_t task = id ? find(r, id) : -1;
        if (task < 0)
            return refuse(r, "workflow.execution.tasks[%zu] is of task '%s', which is no task", i,
                          id ? show(id).text : "(no id)");
        if (r->known[task] & KNOWS_TIME)
            return refuse(r, "workflow.execution.tasks[%zu] is of task '%s', as one before", i,
                          show_task(r, (uint32_t)task).text);
        if (take_time(r, (uint32_t)task, object, 0))
            return -1;
    }
    return 0;
}

/* ---- the graph */

static int refuse_circle(struct reader *r, uint32_t length)
{
    char text[256];
    size_t used = 0;
    uint32_t least = 0; /* told from the first one in the file on */
    for (uint32_t i = 0; i < length; i++)
        if (r->circle[i] < r->circle[least])
            least = i;
    for (uint32_t i = 0; i <= length; i++) {
        if (used > 170 && i + 1 < length) {
            used += (size_t)snprintf(text + used, sizeof text - used, " -> ... (%" PRIu32 " more)",
                                     length - i);
            i = length;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.40s", i ? " -> " : "",
                                 show_task(r, r->circle[(least + i) % length]).text);
    }
    return refuse(r, "tasks wait for each other: %s", text);
}

static int find_order(struct reader *r)
{
    uint32_t length = 0;
    r->first = calloc((size_t)r->count + 1, sizeof *r->first);
    r->place = calloc(r->count, sizeof *r->place);
    r->circle = calloc(r->count, sizeof *r->circle);
    if (!r->first || !r->place || !r->circle)
        return no_memory(r);
    order_index(r->edges.item, r->edges.count, r->count, r->first);
    int found = order_find(r->edges.item, r->first, r->count, r->place, r->circle, &length);
    return found < 0 ? no_memory(r) : found ? refuse_circle(r, length) : 0;
}

/* The task numbered t goes to its place. */
static int fill_task(struct reader *r, struct wf_graph *graph, uint32_t t)
{
    struct wf_task *task = &graph->tasks[r->place[t]];
    json_t *name = json_object_get(json_array_get(r->tasks, t), "name");
    const char *text = name ? json_string_value(name) : id_of(r, t);
    task->name = strdup(text);
    task->seconds = r->seconds[t];
    task->first = graph->predecessor_count;
    task->count = r->first[t + 1] - r->first[t];
    for (uint32_t i = r->first[t]; i < r->first[t + 1]; i++)
        graph->predecessors[graph->predecessor_count++] = r->place[r->edges.item[i].from];
    return task->name ? 0 : no_memory(r);
}

static int make_graph(struct reader *r, struct wf_graph *graph)
{
    graph->tasks = calloc(r->count, sizeof *graph->tasks);
    graph->predecessors = calloc(r->edges.count ? r->edges.count : 1, sizeof(uint32_t));
    if (!graph->tasks || !graph->predecessors)
        return no_memory(r);
    graph->task_count = r->count;
    for (uint32_t t = 0; t < r->count; t++)
        if (fill_task(r, graph, t))
            return -1;
    return 0;
}

/* ---- the text */

static json_t *find_tasks(struct reader *r, const json_t *workflow, int *old)
{
    static const char *const lists[] = { "tasks", "jobs" };
    json_t *specification = json_object_get(workflow, "specification");
    if (specification) {
        r->where = "workflow.specification.tasks";
        return json_object_get(specification, "tasks");
    }
    *old = 1;
    r->where = "workflow.tasks";
    json_t *tasks = NULL;
    for (int i = 0; i < 2 && !tasks; i++)
        tasks = json_object_get(workflow, lists[i]);
    return tasks;
}

static int read_workflow(struct reader *r, const json_t *root)
{
    json_t *workflow = json_object_get(root, "workflow");
    int old = 0;
    if (!json_is_object(workflow))
        return refuse(r, "there is no object \"workflow\"");
    r->tasks = find_tasks(r, workflow, &old);
    if (!json_is_array(r->tasks) || !json_array_size(r->tasks))
        return refuse(r, "%s is no list of tasks, or an empty one", r->where);
    if (json_array_size(r->tasks) > WF_MAX_TASKS)
        return refuse(r, "%s: more than %u tasks", r->where, WF_MAX_TASKS);
    r->count = (uint32_t)json_array_size(r->tasks);
    r->ids = json_object();
    r->names = json_object();
    r->seconds = calloc(r->count, sizeof *r->seconds);
    r->known = calloc(r->count, 1);
    if (!r->ids || !r->names || !r->seconds || !r->known)
        return no_memory(r);
    for (uint32_t t = 0; t < r->count; t++)
        if (take_name(r, t) || (old && take_time(r, t, json_array_get(r->tasks, t), 1)))
            return -1;
    return read_edges(r) || (!old && read_execution(r, workflow)) || find_order(r) ? -1 : 0;
}

static json_t *parse(struct reader *r, const char *text, size_t bytes)
{
    json_error_t e;
    if (json_scan(text, bytes).tree_bytes > WF_MAX_TREE_BYTES) {
        refuse(r, "more than %u bytes of memory would be needed to read it", WF_MAX_TREE_BYTES);
        return NULL;
    }
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &e);
    if (root)
        return root;
    if (json_error_code(&e) == json_error_out_of_memory) {
        no_memory(r);
        return NULL;
    }
    refuse(r, "no JSON: %s", show(e.text).text);
    r->error->line = e.line;
    r->error->column = e.column;
    return NULL;
}

static void end(struct reader *r, json_t *root)
{
    free(r->first);
    free(r->place);
    free(r->circle);
    free(r->seconds);
    free(r->known);
    free(r->by_parents.item);
    free(r->by_children.item);
    free(r->edges.item);
    json_decref(r->ids);
    json_decref(r->names);
    json_decref(root);
}

enum wf_status wf_read(const char *text, size_t bytes, struct wf_graph *graph,
                       struct wf_error *error)
{
    struct reader r = { .error = error };
    struct wf_graph made = { 0 };
    json_t *root = parse(&r, text, bytes);
    if (root && !read_workflow(&r, root))
        make_graph(&r, &made);
    end(&r, root);
    if (r.status) {
        wf_free(&made);
        return r.status;
    }
    *graph = made;
    return WF_OK;
}

void wf_free(struct wf_graph *graph)
{
    for (uint32_t t = 0; t < graph->task_count; t++)
        free(graph->tasks[t].name);
    free(graph->tasks);
    free(graph->predecessors);
    *graph = (struct wf_graph){ 0 };
}
