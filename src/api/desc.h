/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions that grow at the end: a caller's struct of any size becomes one of this library's.
 */
#ifndef RD_API_DESC_H
#define RD_API_DESC_H

#include "src/base/error.h"

#include <string.h>

/* Copies a description of `given` bytes to `desc`, `known` bytes long: what the caller's version
 * lacks is zero; what this library does not know must be. `what` names the struct. */
static inline rondo_status rd_desc_take(const char *what, void *desc, size_t known,
                                        const void *from, size_t given)
{
    size_t i, common = given < known ? given : known;
    if (!from)
        return rd_error(RONDO_ERR_INVALID, "%s is NULL", what);
    for (i = known; i < given; i++)
        if (((const unsigned char *)from)[i])
            return rd_error(RONDO_ERR_INVALID,
                            "%s of %zu bytes: byte %zu is set, this library knows %zu bytes", what,
                            given, i, known);
    memcpy(desc, from, common);
    memset((char *)desc + common, 0, known - common);
    return RONDO_OK;
}

/* Gives an output of `known` bytes to a caller whose struct has `room`: what it does not know is
 * left out, what this library does not know stays as it was. */
static inline void rd_desc_give(void *to, size_t room, const void *from, size_t known)
{
    memcpy(to, from, room < known ? room : known);
}

#endif
