/* SPDX-License-Identifier: BSD-3-Clause */
/* A command's arguments, read as its table of options says. */
#include "tools/cli.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long returns for the i-th long option: beyond every letter. */
enum { LONG = 256, HELP = 1000 };

static const struct cli_option no_options[] = { { .name = NULL } };

struct parse {
    const struct cli_command *command;
    const struct cli_option *options;
    char *settings;
    int count; /* of options */
    struct option longs[CLI_OPTIONS_MOST + 2];
    char shorts[2 * CLI_OPTIONS_MOST + 4];
};

static void tables(struct parse *parse)
{
    char *shorts = parse->shorts;
    int help_letter = 1;
    *shorts++ = ':';
    for (; parse->options[parse->count].name; parse->count++) {
        const struct cli_option *option = &parse->options[parse->count];
        assert(parse->count < CLI_OPTIONS_MOST);
        parse->longs[parse->count] =
            (struct option){ option->name,
                             option->kind == CLI_FLAG ? no_argument : required_argument, NULL,
                             LONG + parse->count };
        if (option->letter)
            *shorts++ = option->letter;
        if (option->letter && option->kind != CLI_FLAG)
            *shorts++ = ':';
        help_letter &= option->letter != 'h';
    }
    parse->longs[parse->count] = (struct option){ "help", no_argument, NULL, HELP };
    if (help_letter)
        *shorts++ = 'h';
}

/* ---- values */

static int bad_value(const struct parse *parse, const struct cli_option *option, const char *text,
                     const char *what)
{
    return cli_fail(parse->command, EXIT_BAD_INPUT, "--%s: '%s' is not %s", option->name, text,
                    what);
}

/* Reads digits, and steps over them. Returns 0, or -1: none, or a number beyond the limits. */
static int digits(const char **text, const struct cli_option *option, uint64_t *number)
{
    uint64_t value = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    if (c == *text || value < option->least || value > option->most)
        return -1;
    *number = value;
    *text = c;
    return 0;
}

static int read_number(const struct parse *parse, const struct cli_option *option, const char *text,
                       uint64_t *number)
{
    const char *end = text;
    char what[96];
    uint64_t value;
    if (!digits(&end, option, &value) && !*end) {
        *number = value;
        return 0;
    }
    snprintf(what, sizeof what, "a number from %" PRIu64 " to %" PRIu64, option->least,
             option->most);
    return bad_value(parse, option, text, what);
}

static int add(struct cli_numbers *numbers, uint64_t value)
{
    if (numbers->count == CLI_NUMBERS_MOST)
        return -1;
    numbers->value[numbers->count++] = value;
    return 0;
}

/* One item of a list: "4", "1-8", or "..." and the item behind it. */
static int read_item(const char **text, const struct cli_option *option,
                     struct cli_numbers *numbers)
{
    uint64_t from, to;
    int doubling = !strncmp(*text, "...,", 4);
    if (doubling) {
        if (!numbers->count || !(from = numbers->value[numbers->count - 1]))
            return -1;
        *text += 4;
    } else if (digits(text, option, &from) || add(numbers, from)) {
        return -1;
    } else if (**text != '-') {
        return 0;
    } else {
        ++*text;
    }
    if (digits(text, option, &to) || to <= from)
        return -1;
    for (uint64_t next = from; next < to;) {
        next = !doubling ? next + 1 : next > to / 2 ? to : 2 * next;
        if (add(numbers, next))
            return -1;
    }
    return 0;
}

static int read_numbers(const struct parse *parse, const struct cli_option *option,
                        const char *text, struct cli_numbers *list)
{
    struct cli_numbers numbers = { 0 };
    const char *end = text;
    char what[128];
    int bad;
    while (!(bad = read_item(&end, option, &numbers)) && *end == ',')
        end++;
    if (!bad && !*end) {
        *list = numbers;
        return 0;
    }
    snprintf(what, sizeof what,
             "a list like 1,2,4 or 1-8 or 1,2,...,64 of up to %d numbers from %" PRIu64
             " to %" PRIu64,
             CLI_NUMBERS_MOST, option->least, option->most);
    return bad_value(parse, option, text, what);
}

static int read_choice(const struct parse *parse, const struct cli_option *option, const char *text,
                       int *choice)
{
    char what[256] = "one of";
    size_t used = strlen(what);
    for (int i = 0; option->choices[i]; i++) {
        if (!strcmp(text, option->choices[i])) {
            *choice = i;
            return 0;
        }
        used += (size_t)snprintf(what + used, sizeof what - used, "%s %s", i ? "," : "",
                                 option->choices[i]);
        assert(used < sizeof what);
    }
    return bad_value(parse, option, text, what);
}

/* Returns 0, or an exit status. */
static int set(const struct parse *parse, const struct cli_option *option, const char *text)
{
    void *field = parse->settings + option->offset;
    switch (option->kind) {
    case CLI_NUMBER: return read_number(parse, option, text, field);
    case CLI_NUMBERS: return read_numbers(parse, option, text, field);
    case CLI_CHOICE: return read_choice(parse, option, text, field);
    case CLI_FLAG: *(int *)field = 1; return 0;
    case CLI_TEXT:
    case CLI_FILE: *(const char **)field = text; return 0;
    }
    return 0;
}

/* ---- what is no option */

/* `word`: as it was given, with its dashes and perhaps "=VALUE". */
static int no_option(const struct parse *parse, const char *word)
{
    const char *names[CLI_OPTIONS_MOST + 2] = { NULL }, *nearest;
    char name[64], several[256] = "";
    size_t length = strcspn(word + 2, "="), used = 0;
    int matches = 0;
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    for (int i = 0; i <= parse->count; i++) {
        names[i] = parse->longs[i].name;
        if (length && !strncmp(names[i], name, length) && used < sizeof several) {
            used += (size_t)snprintf(several + used, sizeof several - used, "%s--%s",
                                     matches++ ? ", " : "", names[i]);
        }
    }
    if (matches > 1)
        return cli_fail(parse->command, EXIT_BAD_INPUT, "'--%s' may be %s", name, several);
    if ((nearest = cli_nearest(name, names)))
        return cli_fail(parse->command, EXIT_BAD_INPUT, "'--%s' is no option: --%s is", name,
                        nearest);
    return cli_fail(parse->command, EXIT_BAD_INPUT, "'--%s' is no option", name);
}

/* getopt_long has returned `returned`, '?' or ':', and left the letter or the index in optopt. */
static int refuse(const struct parse *parse, int returned, char **argv)
{
    const struct cli_command *command = parse->command;
    const char *name = NULL;
    if (optopt == HELP)
        return cli_fail(command, EXIT_BAD_INPUT, "--help takes no value");
    if (optopt >= LONG)
        name = parse->options[optopt - LONG].name;
    for (int i = 0; optopt && i < parse->count; i++)
        if (parse->options[i].letter == optopt)
            name = parse->options[i].name;
    if (returned == ':')
        return cli_fail(command, EXIT_BAD_INPUT, "--%s needs a value", name);
    if (name)
        return cli_fail(command, EXIT_BAD_INPUT, "--%s takes no value", name);
    if (optopt)
        return cli_fail(command, EXIT_BAD_INPUT, "'-%c' is no option", optopt);
    return no_option(parse, argv[optind - 1]);
}

static int take_operands(const struct parse *parse, int argc, char **argv, const char **operands)
{
    const struct cli_command *command = parse->command;
    int given = argc - optind;
    if (given != command->operand_count) {
        if (!command->operand_count)
            return cli_fail(command, EXIT_BAD_INPUT, "takes no operand: '%s'", argv[optind]);
        return cli_fail(command, EXIT_BAD_INPUT, "needs %s: %d operand%s, not %d",
                        command->operands, command->operand_count,
                        command->operand_count == 1 ? "" : "s", given);
    }
    for (int i = 0; i < given; i++)
        operands[i] = argv[optind + i];
    return -1;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings,
              const char **operands)
{
    struct parse parse = { .command = command,
                           .options = command->options ? command->options : no_options,
                           .settings = settings };
    int found, bad = 0;
    tables(&parse);
    opterr = 0;
    optind = 0; /* getopt forgets the arguments it may have read before */
    while (!bad && (found = getopt_long(argc, argv, parse.shorts, parse.longs, NULL)) != -1) {
        int index = found - LONG;
        for (int i = 0; found < LONG && i < parse.count; i++)
            if (parse.options[i].letter == found)
                index = i;
        if (found == '?' || found == ':')
            bad = refuse(&parse, found, argv);
        else if (index >= 0 && index < parse.count)
            bad = set(&parse, &parse.options[index], optarg);
        else
            return cli_help(command, stdout), EXIT_DONE;
    }
    if (!bad && (bad = take_operands(&parse, argc, argv, operands)) < 0)
        return -1;
    fprintf(stderr, "rondo %s --help tells the options\n", command->name);
    return bad;
}
