/* SPDX-License-Identifier: BSD-3-Clause */
/* What team.c and host.c share: a team's function on the host thread. */
#ifndef RD_FRAME_TEAM_H
#define RD_FRAME_TEAM_H

#include "src/frame/node.h"

/* Rank 0, all ranks have arrived: hands the function over; its completion is the team's record. 0:
 * no memory. */
int rd_team_host(struct rd_self *self, const struct rd_node_work *w, struct rd_pend *team);
/* Any rank, after GO: whether the function has returned, and else what to wait for. */
int rd_team_host_is_over(struct rd_pend *team, struct rd_unmet *unmet);
/* Rank 0, all ranks have ended: what the function returned. */
int rd_team_host_end(struct rd_self *self, struct rd_pend *team);

#endif
