/* SPDX-License-Identifier: BSD-3-Clause */
/* Manual pages (man(7)) from the tables of options. */
#include "tools/cli_text.h"

#include <ctype.h>
#include <rondo/rondo.h>
#include <string.h>

/* Text as text, whatever it holds: no control line, no escape, and '-' the one of the keyboard. */
static void put(FILE *file, const char *text, size_t length)
{
    int at_start = 1;
    for (size_t i = 0; i < length && text[i]; i++) {
        char c = text[i] == '\n' ? ' ' : text[i];
        if (at_start && (c == '.' || c == '\''))
            fputs("\\&", file);
        if (c == '\\')
            fputs("\\e", file);
        else if (c == '-')
            fputs("\\-", file);
        else if (c == '\'')
            fputs("\\(aq", file);
        else if (c == '`')
            fputs("\\(ga", file);
        else if (c == '^')
            fputs("\\(ha", file);
        else if (c == '~')
            fputs("\\(ti", file);
        else
            fputc(c, file);
        at_start = 0;
    }
}

static void put_line(FILE *file, const char *text)
{
    put(file, text, strlen(text));
    fputc('\n', file);
}

static void put_paragraph(void *context, const char *paragraph, size_t length)
{
    FILE *file = context;
    fputs(".PP\n", file);
    put(file, paragraph, length);
    fputc('\n', file);
}

static void put_bold(FILE *file, const char *text)
{
    fputs("\\fB", file);
    put(file, text, strlen(text));
    fputs("\\fR", file);
}

static void put_title(FILE *file, const char *name)
{
    fputs(".TH RONDO", file);
    if (name)
        fputc('-', file);
    for (; name && *name; name++)
        fputc(toupper((unsigned char)*name), file);
    fputs(" 1 \"\" \"Rondo " RONDO_VERSION "\" \"Rondo\"\n", file);
}

static void put_examples(FILE *file, const char *const *examples)
{
    if (!examples || !examples[0])
        return;
    fputs(".SH EXAMPLES\n", file);
    for (int i = 0; examples[i]; i += 2) {
        fputs(".TP\n", file);
        put_bold(file, examples[i]);
        fputc('\n', file);
        put_line(file, examples[i + 1]);
    }
}

static void put_option(FILE *file, char letter, const char *name, const char *value,
                       const char *help)
{
    char shorter[] = { '-', letter, '\0' }, longer[64];
    fputs(".TP\n", file);
    if (letter) {
        put_bold(file, shorter);
        fputs(", ", file);
    }
    snprintf(longer, sizeof longer, "--%s", name);
    put_bold(file, longer);
    if (value) {
        fputs(" \\fI", file);
        put(file, value, strlen(value));
        fputs("\\fR", file);
    }
    fputc('\n', file);
    put_line(file, help);
}

static void put_status(FILE *file)
{
    static const char *const meaning[] = { "Done.", "A run failed, or could not be written.",
                                           "Bad input or usage." };
    fputs(".SH EXIT STATUS\n", file);
    for (int i = 0; i < 3; i++)
        fprintf(file, ".TP\n%d\n%s\n", i, meaning[i]);
}

static void put_page_name(FILE *file, const char *name, int last)
{
    fputs(".BR rondo", file);
    if (name)
        fprintf(file, "\\-%s", name);
    fprintf(file, " (1)%s\n", last ? "" : ",");
}

static void man_of_command(const struct cli_command *command, FILE *file)
{
    put_title(file, command->name);
    fprintf(file, ".SH NAME\nrondo\\-%s \\- ", command->name);
    put_line(file, command->summary);
    fprintf(file, ".SH SYNOPSIS\n.B rondo %s\n[\\fIOPTIONS\\fR]", command->name);
    if (*command->operands)
        fprintf(file, " \\fI%s\\fR", command->operands);
    fputs("\n.SH DESCRIPTION\n", file);
    cli_paragraphs(command->text, put_paragraph, file);
    fputs(".SH OPTIONS\n", file);
    for (const struct cli_option *o = command->options; o && o->name; o++)
        put_option(file, o->letter, o->name, o->value, o->help);
    put_option(file, 0, "help", NULL, CLI_HELP_OPTION);
    put_examples(file, command->examples);
    put_status(file);
    fputs(".SH SEE ALSO\n", file);
    put_page_name(file, NULL, 1);
}

static void put_variable(void *context, const rondo_variable *variable)
{
    FILE *file = context;
    fputs(".TP\n", file);
    put_bold(file, variable->name);
    fputc('\n', file);
    put(file, variable->help, strlen(variable->help));
    fputs(" (", file);
    put(file, variable->range, strlen(variable->range));
    fputs("; default: ", file);
    put(file, variable->by_default, strlen(variable->by_default));
    fputs(")\n", file);
}

static void man_of_all(FILE *file)
{
    put_title(file, NULL);
    fputs(".SH NAME\nrondo \\- ", file);
    put_line(file, CLI_SUMMARY);
    fputs(".SH SYNOPSIS\n.B rondo\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIFILE\\fR]\n", file);
    fputs(".SH DESCRIPTION\n", file);
    cli_paragraphs(cli_about, put_paragraph, file);
    fputs(".SH COMMANDS\n", file);
    for (int i = 0; cli_commands[i]; i++) {
        fputs(".TP\n", file);
        put_bold(file, cli_commands[i]->name);
        fputc('\n', file);
        put_line(file, cli_commands[i]->summary);
    }
    fputs(".SH OPTIONS\n.TP\n\\fICOMMAND\\fR \\fB\\-\\-help\\fR\n", file);
    put_line(file, "About one command.");
    put_option(file, 0, "version", NULL, "The version.");
    put_examples(file, cli_examples);
    put_status(file);
    fputs(".SH ENVIRONMENT\n", file);
    rondo_environment(put_variable, file);
    fputs(".TP\n.B NO_COLOR\nno colours, also on a terminal\n", file);
    fputs(".SH SEE ALSO\n", file);
    for (int i = 0; cli_commands[i]; i++)
        put_page_name(file, cli_commands[i]->name, !cli_commands[i + 1]);
}

void cli_man(const struct cli_command *command, FILE *file)
{
    if (command)
        man_of_command(command, file);
    else
        man_of_all(file);
}
