/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine of bytes that recordings are played on, in several memories: what the residency pass
 * says is made, and every byte that a node reads is compared with what it reads where there is the
 * host alone. */
#ifndef TESTS_COMPILE_RESIDENCY_WORLD_H
#define TESTS_COMPILE_RESIDENCY_WORLD_H

#include "compile/residency.h"

#include <rondo/rondo.h>

enum { WORLD_REPLAYS = 6, WORLD_INSTANCES = 64 };

struct world_instance {
    struct rd_buffer *buffer, *shadow;
    uint32_t memory;
    char *bytes;
    uint8_t *current; /* by element, as the keeper would know it */
};

struct world {
    uint64_t seed;
    const struct rd_subgraph *g; /* expanded */
    const uint32_t *order;       /* in which the reference runs; NULL: the sequence's */
    char *host, *reference;      /* host_bytes each; all buffers lie in the former */
    size_t host_bytes;
    uint32_t devices;
    uint64_t room[RD_MEMORIES_MAX];
    uint8_t peers[RD_MEMORIES_MAX * RD_MEMORIES_MAX];
    uint64_t *instance_bytes;
    uint64_t had; /* tells which instances there are before; 0: none */
    uint8_t *external;
    /* of slots bound per replay and temporaries: where they are in host memory */
    size_t (*place)[WORLD_REPLAYS];
    struct rd_residency *r;
    struct rd_subgraph *applied;
    char *arena[RD_MEMORIES_MAX];
    struct world_instance instance[WORLD_INSTANCES]; /* of memory 0: what is current on the host */
    uint32_t instances;
    uint64_t *seen; /* [replay * nodes + node]: what it read */
    uint64_t *ends; /* [replay * slots + slot]: what it holds then, if it is told where to be */
    uint32_t replays;
    char why[256]; /* what differs; "" */
};

/* Whether a buffer has an instance there before. */
int world_has(const struct world *w, const struct rd_buffer *b, uint32_t memory);
/* Runs the pass and applies it. The status of rd_residency. */
rondo_status world_make(struct world *w);
/* Plays the replays in order, poisoning between them whatever the keeper is not told to hold;
 * `overlapped`: in any order that the applied recording's graph allows. 0: something differs, and
 * w->why says what. */
int world_play(struct world *w, int overlapped);
void world_free(struct world *w); /* what world_make and world_play made */

/* What the pass has made of the recording, on stderr. */
void world_print(const struct world *w);
/* Where a slot of the recording is on the host in a replay. */
char *world_host(const struct world *w, uint32_t slot, uint32_t replay);

#endif
