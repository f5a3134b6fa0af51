/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes files so that a reader never sees half of one. */
#include "tools/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct output *o, const char *path, const char *what)
{
    int status = cli_fail(o->command, EXIT_RUN_FAILED, "%s: %s", path, what);
    free(o->path);
    free(o->beside);
    *o = (struct output){ .command = o->command };
    return status;
}

/* What mkstemp made is for its owner alone; the file is to be as fopen would have made it, or as
 * the one that it takes the place of. */
static int set_mode(int fd, const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, old ? old->st_mode & 07777 : 0666 & ~mask);
}

static int open_beside(struct output *o, const struct stat *old)
{
    size_t room = strlen(o->path) + 16;
    if (!(o->beside = malloc(room)))
        return fail(o, o->path, "out of memory");
    snprintf(o->beside, room, "%s.XXXXXX", o->path);
    int fd = mkstemp(o->beside);
    if (fd < 0)
        return fail(o, o->path, strerror(errno));
    if (set_mode(fd, old) || !(o->file = fdopen(fd, "w"))) {
        int error = errno;
        unlink(o->beside);
        close(fd);
        return fail(o, o->path, strerror(error));
    }
    return 0;
}

int output_begin(struct output *o, const struct cli_command *command, const char *path)
{
    struct stat old;
    *o = (struct output){ .command = command };
    if (!strcmp(path, "-")) {
        o->file = stdout;
        return 0;
    }
    int exists = !stat(path, &old);
    /* What stands behind a symbolic link is replaced, not the link. */
    o->path = exists ? realpath(path, NULL) : strdup(path);
    if (!o->path)
        return fail(o, path, strerror(errno));
    if (!exists || S_ISREG(old.st_mode))
        return open_beside(o, exists ? &old : NULL);
    o->file = fopen(o->path, "w");
    return o->file ? 0 : fail(o, path, strerror(errno));
}

/* Whether all has reached the system; says what has not. */
static int close_file(struct output *o)
{
    errno = 0;
    int bad = ferror(o->file) != 0;
    if (o->file == stdout ? fflush(o->file) : fclose(o->file))
        bad = 1;
    if (!bad)
        return 0;
    return cli_fail(o->command, EXIT_RUN_FAILED, "%s: %s", o->path ? o->path : "standard output",
                    errno ? strerror(errno) : "not all could be written");
}

int output_end(struct output *o, int status)
{
    if (!o->file)
        return status;
    int closed = close_file(o);
    status = status ? status : closed;
    if (o->beside && status)
        unlink(o->beside);
    else if (o->beside && rename(o->beside, o->path)) {
        status = cli_fail(o->command, EXIT_RUN_FAILED, "%s: %s", o->path, strerror(errno));
        unlink(o->beside);
    }
    free(o->path);
    free(o->beside);
    *o = (struct output){ .command = o->command };
    return status;
}

void output_put(void *context, const char *text) { fputs(text, context); }
