/* SPDX-License-Identifier: BSD-3-Clause */
/* An exec as the cleaner's tenant: what its frames hold, and its end. After the id was retired and
 * a grace period, no ticket is taken any more; when the last one has ended, the workers let go of
 * the lanes and the seats are closed; after another grace period no caller is between taking a seat
 * and giving it back. */
#include "src/exec/exec.h"

#include "src/machine/worker.h"

int rd_exec_sweep(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct rd_exec *x = (struct rd_exec *)tenant;
    int held = 0;
    for (uint32_t i = 0; i < x->tracks; i++) {
        struct rd_track *t = &x->track[i];
        for (uint32_t k = 0; k <= t->ring_mask; k++) {
            uint64_t until = rd_frame_let_go_if_ended(x, t, &t->ring[k]);
            if (!until)
                continue;
            if (!held || until < unmet->need)
                *unmet = (struct rd_unmet){ &t->source->done, until, &t->source->wake, NULL, 0 };
            held = 1;
        }
    }
    return held;
}

static int is_drained(struct rd_exec *x, struct rd_unmet *unmet)
{
    uint64_t tickets = RD_WORD_TICKET(rd_load_acquire(&x->word)), need;
    for (uint32_t i = 0; i < x->tracks; i++) {
        struct rd_track *t = &x->track[i];
        need = tickets > i ? (tickets - i - 1) / x->tracks + 1 : 0;
        if (rd_load_acquire(&t->source->done) < need) {
            *unmet = (struct rd_unmet){ &t->source->done, need, &t->source->wake, NULL, 0 };
            return 0;
        }
    }
    return 1;
}

/* Tells the workers to leave, once; whether all have. */
static int is_detached(struct rd_exec *x)
{
    int left = 0;
    for (uint32_t i = 0; i < x->tracks; i++) {
        struct rd_track *t = &x->track[i];
        if (!rd_load_relaxed(&t->detach)) { /* only the cleaner writes it */
            rd_store_release(&t->detach, 1);
            for (uint32_t k = 0; k < t->lanes; k++)
                rd_worker_poke(&x->rt->workers[t->lane[k].processor]);
        }
        left |= rd_load_acquire(&t->attached) != 0; /* pairs with the workers' last touch */
    }
    return !left;
}

static int are_seats_closed(struct rd_exec *x)
{
    int open = 0;
    for (uint32_t i = 0; i < x->tracks; i++)
        for (uint32_t k = 0; k < x->track[i].lanes; k++) {
            rd_atomic32 *seat = &x->track[i].lane[k].seat;
            uint32_t seen = RD_SEAT_FREE;
            /* Acquire: all that the last driver did. */
            if (!rd_cas_acquire(seat, &seen, RD_SEAT_CLOSED) && seen != RD_SEAT_CLOSED)
                open = 1; /* a caller is about to give it back */
        }
    return !open;
}

int rd_exec_closed(struct rd_tenant *tenant, struct rd_unmet *unmet)
{
    struct rd_exec *x = (struct rd_exec *)tenant;
    return is_drained(x, unmet) && is_detached(x) && are_seats_closed(x);
}

void rd_exec_tenant_free(struct rd_tenant *tenant) { rd_exec_free((struct rd_exec *)tenant); }
