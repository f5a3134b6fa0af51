/* SPDX-License-Identifier: BSD-3-Clause */
/* Refuses what names a device that the runtime has not opened. */
#include "src/exec/on_device.h"

#include "src/device/devices.h"

/* `who` is on, or wants to be in, the device's `what`. */
static rondo_status check(const struct rd_subgraph *g, const char *part, uint32_t name,
                          const char *what, uint32_t device)
{
    const struct rd_devices *d = g->rt->devices;
    if (!d)
        return rd_error(RONDO_ERR_INVALID,
                        "%s '%s' %s(%u), and the runtime has opened no devices "
                        "(rondo_runtime_options.devices)",
                        part, rd_subgraph_text(g, name), what, device);
    if (device >= d->count)
        return rd_error(RONDO_ERR_INVALID,
                        "%s '%s' %s(%u), and the runtime has opened %u devices "
                        "(rondo_runtime_options.devices)",
                        part, rd_subgraph_text(g, name), what, device, d->count);
    return RONDO_OK;
}

rondo_status rd_check_devices(const struct rd_subgraph *g)
{
    rondo_status status = RONDO_OK;
    for (size_t v = 0; v < g->nodes.count && !status; v++) {
        const struct rd_node *n = &g->nodes.item[v];
        if (rd_bound_is_device(n->bound))
            status = check(g, "node", n->name, "is on RONDO_GPU", n->bound - RD_ON_DEVICE);
    }
    for (size_t s = 0; s < g->slots.count && !status; s++) {
        const struct rd_slot *slot = &g->slots.item[s];
        if (slot->at_end > RD_MEMORY_HOST + 1)
            status = check(g, "slot", slot->name, "has at_end RONDO_GPU_MEMORY", slot->at_end - 2u);
    }
    return status;
}
