/* SPDX-License-Identifier: BSD-3-Clause */
/* rondo_event_at: finds the replay's exec. */
#include "src/exec/exec.h"

#include "src/base/id.h"

static rondo_status of_replay(struct rd_source *s, rondo_event replay, rondo_node node,
                              rondo_event *event)
{
    struct rd_exec *x = rd_id_find(rd_load_relaxed(&s->exec), RD_ID_EXEC);
    if (!x || rd_source_is_old(s, replay.source))
        return rd_error(RONDO_ERR_STALE, "event {0x%llx, %llu}: its exec is gone",
                        (unsigned long long)replay.source, (unsigned long long)replay.count);
    if (!rd_series_has(x->series, s))
        return rd_error(RONDO_ERR_INVALID,
                        "exec '%s': {0x%llx, %llu} is a node's event, not a replay's",
                        x->program.exec_name, (unsigned long long)replay.source,
                        (unsigned long long)replay.count);
    return rd_exec_event_at(x, s, replay, node, event);
}

rondo_status rondo_event_at(rondo_event replay, rondo_node node, rondo_event *event)
{
    struct rd_source *s = rd_source_find(replay.source);
    rondo_event own = { 0, 0 };
    rondo_status status;
    if (!event)
        return rd_error(RONDO_ERR_INVALID, "rondo_event_at: event is NULL");
    if (!s || !replay.count)
        return rd_error(RONDO_ERR_INVALID,
                        "rondo_event_at: {0x%llx, %llu} is no event of a replay of this process",
                        (unsigned long long)replay.source, (unsigned long long)replay.count);
    rd_rcu_read_lock();
    status = of_replay(s, replay, node, &own);
    rd_rcu_read_unlock();
    if (!status)
        *event = own;
    return status;
}
