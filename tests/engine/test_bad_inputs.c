/* SPDX-License-Identifier: BSD-3-Clause */
/* Every bad input is refused with its status and message, and leaves nothing: the recording has the
 * nodes it had, the exec replays as before, and the corrected call succeeds. */
#include "tests/engine/bad_inputs.h"
#include "tests/engine/engine_check.h"

#include <stdio.h>

static struct bad fixture;

/* The message with %H replaced by the handle that it shows. */
static const char *expected_message(const struct bad *b, const struct bad_case *c)
{
    static char text[512];
    const char *h = c->message ? strstr(c->message, "%H") : NULL;
    if (b->expected[0])
        return b->expected;
    if (!h)
        return c->message ? c->message : "";
    (void)snprintf(text, sizeof text, "%.*s%llx%s", (int)(h - c->message), c->message,
                   (unsigned long long)b->shown, h + 2);
    return text;
}

/* A builder's error sticks until it is cleared, and instantiation returns it; nothing else's does.
 */
static const char *check_sticky(struct bad *b, enum bad_kind kind, rondo_status status,
                                const char *message)
{
    rondo_exec exec = { 1 };
    rondo_status stuck = rondo_subgraph_status(b->g);
    if (kind == BAD_CALL)
        return stuck ? "an error stuck to the recording" : NULL;
    if (stuck != status || strcmp(rondo_error_message(), message) != 0)
        return "the error did not stick";
    if (rondo_instantiate(b->g, NULL, &exec) != status || exec.id != 1 ||
        strcmp(rondo_error_message(), message) != 0)
        return "rondo_instantiate does not return the error that stuck";
    if (rondo_record_task(b->g, &(rondo_task_desc){ .name = "later" }).id)
        return "a task without function was recorded";
    if (rondo_subgraph_status(b->g) != status || strcmp(rondo_error_message(), message) != 0)
        return "a later error replaced the first";
    if (rondo_subgraph_clear_error(b->g) || rondo_subgraph_status(b->g))
        return "the error was not cleared";
    return NULL;
}

/* What was recorded is what was recorded before, and the exec goes on. */
static const char *check_unchanged(struct bad *b)
{
    uint32_t step = 7;
    uint64_t before;
    rondo_value value;
    rondo_binding binding[2];
    rondo_exec_counts counts;
    rondo_exec exec;
    rondo_replay_args args = bad_args(b, &value, binding, &step);
    if (rondo_exec_wait(b->exec, NULL)) /* a call that timed out left its replay under way */
        return rondo_error_message();
    before = b->u_bytes[0][0];
    if (rondo_instantiate(b->g, NULL, &exec))
        return rondo_error_message();
    if (rondo_exec_count(exec, &counts) || rondo_exec_destroy(exec))
        return rondo_error_message();
    if (counts.nodes != BAD_NODES)
        return "the recording has another number of nodes";
    if (rondo_replay_and_wait(b->exec, &args, -1, NULL))
        return rondo_error_message();
    return b->u_bytes[0][0] == before + 7 ? NULL : "the exec does not do what it did";
}

static int run_case(struct bad *b, const struct bad_table *table, const struct bad_case *c)
{
    char message[512];
    const char *wrong;
    rondo_status status = c->call(b, 0);
    (void)snprintf(message, sizeof message, "%s", rondo_error_message());
    int other = strcmp(message, expected_message(b, c)) != 0;
    if (status != c->status || other) {
        fprintf(stderr, "%s, %s: status %d, '%s'\n    instead of %d, '%s'\n", table->name, c->name,
                status, message, c->status, expected_message(b, c));
        if (status != c->status)
            return 1;
    }
    wrong = b->undone;
    if (!wrong)
        wrong = check_sticky(b, table->kind, status, message);
    if (!wrong)
        wrong = check_unchanged(b);
    if (!wrong && (status = c->call(b, 1)) != RONDO_OK)
        wrong = "the corrected call is refused";
    if (!wrong && b->undone)
        wrong = b->undone;
    if (wrong)
        fprintf(stderr, "%s, %s: %s (%s)\n", table->name, c->name, wrong, rondo_error_message());
    return wrong || other;
}

/* What needs a device is refused by a runtime without, whose message names it. */
static int expect_no_device(struct bad *b)
{
    rondo_exec exec = { 1 };
    const char *message = rondo_error_message();
    if (rondo_instantiate(b->g, NULL, &exec) == RONDO_ERR_INVALID && exec.id == 1 &&
        strstr(message, "and the runtime has opened no devices (rondo_runtime_options.devices)"))
        return 0;
    fprintf(stderr, "instantiated without a device: '%s'\n", message);
    return 1;
}

static uint32_t run_table(struct bad *b, const struct bad_table *table, int *wrong)
{
    for (size_t i = 0; i < table->count; i++) {
        rondo_exec exec;
        cr_assert_eq(bad_make(b), 0, "%s", rondo_error_message());
        *wrong += run_case(b, table, &table->item[i]);
        if (table->kind == BAD_BUILDER && !rondo_subgraph_status(b->g)) {
            ET_OK(rondo_instantiate(b->g, NULL, &exec)); /* with what the corrected call added */
            ET_OK(rondo_exec_destroy(exec));
        }
        if (table->kind == BAD_DEVICE && !rondo_subgraph_status(b->g))
            *wrong += expect_no_device(b);
        bad_end(b);
    }
    return (uint32_t)table->count;
}

Test(engine_bad_inputs, every_one_is_refused_by_name, .timeout = 300)
{
    static const struct bad_table *const tables[] = {
        &bad_tasks,  &bad_accesses, &bad_builders, &bad_machine,  &bad_execs,   &bad_replays,
        &bad_traits, &bad_syncs,    &bad_nested,   &bad_counters, &bad_kernels, &bad_on_devices,
    };
    struct bad *b = &fixture;
    uint32_t cases = 0;
    int wrong = 0;
    b->rt = et_runtime(2);
    b->other_rt = et_runtime(1);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        cases += run_table(b, tables[t], &wrong);
    printf("%u bad inputs\n", cases);
    ET_CLOSE(b->rt);
    ET_CLOSE(b->other_rt);
    cr_assert_eq(wrong, 0, "%d of %u are not as expected, see above", wrong, cases);
}
