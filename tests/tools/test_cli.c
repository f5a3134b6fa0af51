/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments as a table of options says, and what is made of the same table: help, manual page and
 * completion. */
#include "tools/cli.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    int loud, colour;
    uint64_t count;
    struct cli_numbers list;
    const char *text, *file;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

#define FIELD(field) offsetof(struct settings, field)

static const struct cli_option options[] = {
    { "loud", 'l', NULL, "says more", CLI_FLAG, FIELD(loud), 0, 0, NULL },
    { "count", 'c', "N", "how many: .5 is none", CLI_NUMBER, FIELD(count), 3, 1000, NULL },
    { "list", 0, "LIST", "which", CLI_NUMBERS, FIELD(list), 1, 4096, NULL },
    { "colour", 0, "COLOUR", "red, green or blue", CLI_CHOICE, FIELD(colour), 0, 0, colours },
    { "text", 't', "TEXT", "'what' to \\say", CLI_TEXT, FIELD(text), 0, 0, NULL },
    { "file", 0, "FILE", "where to", CLI_FILE, FIELD(file), 0, 0, NULL },
    { .name = NULL },
};
static const char *const examples[] = { "rondo probe a b", "does it", NULL };

static const struct cli_command probe = {
    .name = "probe",
    .operands = "IN OUT",
    .operand_count = 2,
    .summary = "try the command line",
    .text =
        "One paragraph that is long enough to be wrapped when it is printed on a page of eighty "
        "columns.\n\n.Another one, with a dot in front.",
    .examples = examples,
    .options = options,
};
static const struct cli_command bare = {
    .name = "bare", .operands = "", .summary = "", .text = ""
};

const struct cli_command *const cli_commands[] = { &probe, &bare, NULL };

enum { MOST = 12 };

static int parse(const struct cli_command *command, const char *const *words,
                 struct settings *settings, const char **operands)
{
    char *argv[MOST + 2] = { NULL };
    int argc = 0;
    while (words[argc]) {
        argv[argc] = (char *)(uintptr_t)words[argc];
        argc++;
    }
    return cli_parse(command, argc, argv, settings, operands);
}

Test(cli, every_kind_of_option_is_read)
{
    struct settings s = { .count = 7, .colour = 2, .text = "as before" };
    const char *operands[2];
    const char *words[] = { "probe", "a",      "--loud", "-c12",    "--col=green", "--list",
                            "1-3,8", "--file", "x y",    "--text=", "b",           NULL };
    cr_assert_eq(parse(&probe, words, &s, operands), -1);
    cr_expect(s.loud == 1 && s.count == 12 && s.colour == 1);
    cr_expect_str_eq(s.text, "");
    cr_expect_str_eq(s.file, "x y");
    cr_expect_str_eq(operands[0], "a");
    cr_expect_str_eq(operands[1], "b");
    cr_expect(s.list.count == 4 && s.list.value[2] == 3 && s.list.value[3] == 8);
}

Test(cli, what_is_not_given_stays)
{
    struct settings s = { .count = 7, .colour = 2, .text = "as before" };
    const char *operands[2], *words[] = { "probe", "--", "-c", "--loud", NULL };
    cr_assert_eq(parse(&probe, words, &s, operands), -1);
    cr_expect(s.loud == 0 && s.count == 7 && s.colour == 2 && !s.list.count && !s.file);
    cr_expect_str_eq(s.text, "as before");
    cr_expect_str_eq(operands[1], "--loud");
}

static const struct {
    const char *text;
    uint32_t count; /* 0: refused */
    uint64_t first, last;
} lists[] = {
    { "4", 1, 4, 4 },
    { "4,2", 2, 4, 2 },
    { "1,2,...,1024", 11, 1, 1024 },
    { "1,...,1024", 11, 1, 1024 },
    { "3,...,20", 4, 3, 20 }, /* 3, 6, 12, 20 */
    { "1-64", 64, 1, 64 },
    { "1-4,8,...,64,100", 9, 1, 100 },
    { "4096", 1, 4096, 4096 },
    { "1-65", 0, 0, 0 },
    { "", 0, 0, 0 },
    { "0", 0, 0, 0 },
    { "4097", 0, 0, 0 },
    { "1,", 0, 0, 0 },
    { ",1", 0, 0, 0 },
    { "1,,2", 0, 0, 0 },
    { "...,8", 0, 0, 0 },
    { "1,...", 0, 0, 0 },
    { "8,...,8", 0, 0, 0 },
    { "3-1", 0, 0, 0 },
    { "1-", 0, 0, 0 },
    { "-1", 0, 0, 0 },
    { "1 2", 0, 0, 0 },
    { "99999999999999999999999", 0, 0, 0 },
};

Test(cli, lists_of_numbers)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct settings s = { .list = { .count = 1, .value = { 77 } } };
        const char *operands[2], *words[] = { "probe", "--list", lists[i].text, "a", "b", NULL };
        int status = parse(&probe, words, &s, operands);
        cr_expect_eq(status, lists[i].count ? -1 : EXIT_BAD_INPUT, "'%s'", lists[i].text);
        if (lists[i].count) {
            cr_expect_eq(s.list.count, lists[i].count, "'%s': %u", lists[i].text, s.list.count);
            cr_expect_eq(s.list.value[0], lists[i].first, "'%s'", lists[i].text);
            cr_expect_eq(s.list.value[s.list.count - 1], lists[i].last, "'%s'", lists[i].text);
        } else {
            cr_expect(s.list.count == 1 && s.list.value[0] == 77, "'%s'", lists[i].text);
        }
    }
}

Test(cli, bad_arguments_are_refused)
{
    static const char *const bad[][MOST] = {
        { "probe", "a" },
        { "probe", "a", "b", "c" },
        { "probe", "a", "b", "--count=2" },
        { "probe", "a", "b", "--count=1001" },
        { "probe", "a", "b", "--count=" },
        { "probe", "a", "b", "--count", "18446744073709551617" },
        { "probe", "a", "b", "--colour=grey" },
        { "probe", "a", "b", "--loud=1" },
        { "probe", "a", "b", "--co=1" }, /* count or colour */
        { "probe", "a", "b", "--file" },
        { "probe", "a", "b", "-x" },
        { "probe", "a", "b",
          "--"
          "long-and-unknown-and-longer-than-any-name-there-is-or-could-be" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct settings s = { .count = 7 };
        const char *operands[2] = { NULL, NULL };
        cr_expect_eq(parse(&probe, bad[i], &s, operands), EXIT_BAD_INPUT, "case %zu", i);
        cr_expect(s.count == 7 && !operands[0], "case %zu", i);
    }
    const char *operand[] = { "bare", "x", NULL }, *none[] = { "bare", NULL };
    cr_expect_eq(parse(&bare, operand, NULL, NULL), EXIT_BAD_INPUT);
    cr_expect_eq(parse(&bare, none, NULL, NULL), -1);
}

Test(cli, the_nearest_name)
{
    static const char *const names[] = { "timeline", "sim", "compare", "run", "check", NULL };
    static const struct {
        const char *word, *name;
    } words[] = {
        { "timelien", "timeline" },
        { "time", "timeline" },
        { "rum", "run" },
        { "urn", "run" },
        { "comapre", "compare" },
        { "chekc", "check" },
        { "dance", NULL },
        { "", NULL },
        { "xyz", NULL },
        { "averyveryverylongwordindeedandmore", NULL },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = cli_nearest(words[i].word, names);
        cr_expect(!found == !words[i].name && (!found || !strcmp(found, words[i].name)), "%s: %s",
                  words[i].word, found ? found : "none");
    }
}

/* What a writer of pages writes. */
static char *written(void (*write)(const struct cli_command *, FILE *),
                     const struct cli_command *command)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    write(command, file);
    fclose(file);
    return text;
}

static void complete(const struct cli_command *command, FILE *file)
{
    (void)command;
    cli_completion(file);
}

Test(cli, every_option_stands_in_help_page_and_completion)
{
    char *help = written(cli_help, &probe), *man = written(cli_man, &probe),
         *completion = written(complete, NULL), name[64];
    for (const struct cli_option *o = options; o->name; o++) {
        snprintf(name, sizeof name, "--%s ", o->name);
        cr_expect_not_null(strstr(help, name), "%s in the help", name);
        cr_expect_not_null(strstr(completion, name), "%s in the completion", name);
        snprintf(name, sizeof name, "\\-\\-%s\\fR", o->name);
        cr_expect_not_null(strstr(man, name), "%s in the page", name);
    }
    cr_expect(strstr(help, "--help") && strstr(man, "\\-\\-help") && strstr(completion, "--help"));
    cr_expect_not_null(strstr(completion, "red green blue"));
    cr_expect_not_null(strstr(help, "rondo probe a b\n      does it\n"));
    free(help);
    free(man);
    free(completion);
}

Test(cli, help_fits_its_lines)
{
    char *help = written(cli_help, &probe);
    for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n"))
        cr_expect_leq(strlen(line), 80u, "'%s'", line);
    free(help);
}

/* A text's own dots, quotes and backslashes are no requests of the page's. */
Test(cli, pages_escape_texts)
{
    char *man = written(cli_man, &probe);
    cr_expect_not_null(strstr(man, "\n\\&.Another one"));
    cr_expect_not_null(strstr(man, "\\(aqwhat\\(aq to \\esay"));
    cr_expect_null(strstr(man, "\n.Another"));
    free(man);
}
