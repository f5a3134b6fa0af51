/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of random programs: one image does for all, as what random_body.c does is a matter of
 * values. A single work item hashes what the node reads into what it writes. */
#include "tests/engine/random_device.h"
#include "tests/engine/random_program.h"

#include <stdio.h>
#include <string.h>

/* As struct work in the image: no padding, each field at a multiple of its size. */
struct kernel_access {
    uint64_t pitch[2];
    uint32_t elem_bytes, mode, type, op, flag, boxes;
};
struct kernel_box {
    uint16_t first[3], count[3];
};
struct kernel_work {
    uint64_t hash;
    uint32_t accesses, params;
    uint32_t param_bytes[4];
    struct kernel_access access[RG_ACCESSES];
    struct kernel_box box[RG_KERNEL_BOXES];
};

/* What rows are read into and changed by. */
static const char source_rows[] =
    "struct access { ulong pitch[2]; uint elem_bytes, mode, type, op, flag, boxes; };\n"
    "struct box { ushort first[3], count[3]; };\n"
    "struct work {\n"
    "    ulong hash; uint accesses, params; uint param_bytes[4];\n"
    "    struct access access[4]; struct box box[40];\n"
    "};\n"
    "#define STEP 0x9E3779B97F4A7C15ul\n"
    "ulong mix(ulong x)\n"
    "{\n"
    "    x ^= x >> 31; x *= STEP; x ^= x >> 29; x *= 0xBF58476D1CE4E5B9ul;\n"
    "    return x ^ x >> 32;\n"
    "}\n"
    "ulong hash_word(ulong h, ulong word)\n"
    "{\n"
    "    h = (h ^ word) * STEP;\n"
    "    return h ^ h >> 29;\n"
    "}\n"
    "#define HASH_BYTES(name, space)                                      \\\n"
    "    ulong name(ulong h, space const uchar *bytes, ulong n)           \\\n"
    "    {                                                                \\\n"
    "        ulong word;                                                  \\\n"
    "        for (; n >= 8; bytes += 8, n -= 8) {                         \\\n"
    "            word = 0;                                                \\\n"
    "            for (int b = 7; b >= 0; b--) word = word << 8 | bytes[b]; \\\n"
    "            h = hash_word(h, word);                                  \\\n"
    "        }                                                            \\\n"
    "        word = n;                                                    \\\n"
    "        for (ulong b = 0; b < n; b++)                                \\\n"
    "            word = (word & ~(0xfful << 8 * b)) | (ulong)bytes[b] << 8 * b; \\\n"
    "        return mix(h ^ word);                                        \\\n"
    "    }\n"
    "HASH_BYTES(hash_global, __global)\n"
    "HASH_BYTES(hash_private, __private)\n"
    "ulong bytes_of(uint type) { return type == 1 || type == 3 ? 8 : 4; }\n"
    "long more_of(uint op, long now, long more)\n"
    "{\n"
    "    if (op == 0) return more;\n"
    "    if (op == 1) return (long)((ulong)now + (ulong)more);\n"
    "    return (op == 2) == (more < now) ? more : now;\n"
    "}\n"
    "double more_real(uint op, double now, double more)\n"
    "{\n"
    "    if (op == 0) return more;\n"
    "    if (op == 1) return now + more;\n"
    "    return (op == 2) == (more < now) ? more : now;\n"
    "}\n"
    "void number(__global uchar *at, uint type, uint op, int value)\n"
    "{\n"
    "    if (type == 1)\n"
    "        *(__global double *)at = more_real(op, *(__global double *)at, value);\n"
    "    else if (type == 2)\n"
    "        *(__global float *)at = (float)more_real(op, *(__global float *)at, value);\n"
    "    else if (type == 3)\n"
    "        *(__global long *)at = more_of(op, *(__global long *)at, value);\n"
    "    else\n"
    "        *(__global int *)at = (int)more_of(op, *(__global int *)at, value);\n"
    "}\n"
    "void change_row(const struct access *a, ulong h, __global uchar *at, ulong n)\n"
    "{\n"
    "    if (a->type) {\n"
    "        for (ulong k = 0; k < n; k += bytes_of(a->type)) {\n"
    "            h += STEP;\n"
    "            int value = (int)(mix(h) % 17) - 8;\n"
    "            number(at + k, a->type, a->op, a->flag && !a->op ? value & 1 : value);\n"
    "        }\n"
    "    } else if (a->mode == 7) {\n"
    "        for (ulong k = 0; k < n; k++) {\n"
    "            h += STEP;\n"
    "            at[k] = (uchar)(at[k] + (mix(h) & 0xff));\n"
    "        }\n"
    "    } else {\n"
    "        for (ulong k = 0; k < n; k++) {\n"
    "            if (k % 8 == 0) h += STEP;\n"
    "            at[k] = (uchar)(mix(h) >> 8 * (k % 8));\n"
    "        }\n"
    "    }\n"
    "}\n";
/* Accesses, and the entries. */
static const char source_body[] =
    "ulong walk(const struct access *a, __global uchar *base, const struct box *box, ulong h,\n"
    "           int change)\n"
    "{\n"
    "    ulong row = (ulong)box->count[0] * a->elem_bytes, number = 0;\n"
    "    for (uint z = box->first[2]; z < (uint)box->first[2] + box->count[2]; z++)\n"
    "        for (uint y = box->first[1]; y < (uint)box->first[1] + box->count[1]; y++) {\n"
    "            __global uchar *at = base + z * a->pitch[1] + y * a->pitch[0]\n"
    "                                 + (ulong)box->first[0] * a->elem_bytes;\n"
    "            if (!change) h = hash_global(h, at, row);\n"
    "            else change_row(a, h + (++number << 40), at, row);\n"
    "        }\n"
    "    return change ? mix(h + 1) : h;\n"
    "}\n"
    "void body(__global uchar *a0, __global uchar *a1, __global uchar *a2, __global uchar *a3,\n"
    "          ulong h, const struct work *w)\n"
    "{\n"
    "    for (int change = 0; change < 2; change++) {\n"
    "        uint first = 0;\n"
    "        for (uint a = 0; a < w->accesses; first += w->access[a].boxes, a++) {\n"
    "            const struct access *c = &w->access[a];\n"
    "            __global uchar *base = a == 0 ? a0 : a == 1 ? a1 : a == 2 ? a2 : a3;\n"
    "            if (change ? !(c->mode & 2) : c->mode != 1 && c->mode != 3) continue;\n"
    "            for (uint b = 0; b < c->boxes; b++)\n"
    "                h = walk(c, base, &w->box[first + b], h, change);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "__kernel void by_address(__global uchar *a0, __global uchar *a1, __global uchar *a2,\n"
    "                         __global uchar *a3, __global uchar *p0, __global uchar *p1,\n"
    "                         __global uchar *p2, struct work w)\n"
    "{\n"
    "    ulong h = w.hash;\n"
    "    for (uint i = 0; i < w.params; i++)\n"
    "        h = hash_global(h, i == 0 ? p0 : i == 1 ? p1 : p2, w.param_bytes[i]);\n"
    "    body(a0, a1, a2, a3, h, &w);\n"
    "}\n"
    "__kernel void by_value(__global uchar *a0, __global uchar *a1, __global uchar *a2,\n"
    "                       __global uchar *a3, ulong4 p0, ulong4 p1, ulong4 p2, struct work w)\n"
    "{\n"
    "    ulong4 p[3] = { p0, p1, p2 };\n"
    "    ulong h = w.hash;\n"
    "    for (uint i = 0; i < w.params; i++)\n"
    "        h = hash_private(h, (const uchar *)&p[i], 32);\n"
    "    body(a0, a1, a2, a3, h, &w);\n"
    "}\n"
    "__kernel void nothing(ulong h) { (void)h; }\n";

/* The parts as one text: a literal of C may not be as long. */
static const char *whole_image(void)
{
    static char image[sizeof source_rows + sizeof source_body];
    (void)snprintf(image, sizeof image, "%s%s", source_rows, source_body);
    return image;
}

static uint32_t combining(const struct rg_access *a, const struct rg_slot *s)
{
    if (!s->type)
        return 0;
    return a->mode == RONDO_REDUCE ? a->op : a->mode == RONDO_COMMUTE ? (uint32_t)RONDO_SUM : 0;
}

static struct kernel_work work_of(const struct rg_program *p, uint32_t record, uint32_t version)
{
    const struct rg_record *r = &p->record[record];
    const struct rg_node *n = &p->node[r->first_node];
    struct kernel_work w = { .hash = rg_body_hash(p, r->first_node, 0, version) };
    uint32_t at = 0;
    w.accesses = r->access_count;
    w.params = r->param_count;
    for (uint32_t i = 0; i < r->param_count; i++)
        w.param_bytes[i] = p->param[r->param[i]].bytes;
    for (uint32_t a = 0; a < r->access_count; a++) {
        const struct rg_slot *s = &p->slot[r->access[a].slot];
        w.access[a] =
            (struct kernel_access){ .pitch = { s->shape.pitch_bytes[0], s->shape.pitch_bytes[1] },
                                    .elem_bytes = (uint32_t)s->shape.elem_bytes,
                                    .mode = r->access[a].mode,
                                    .type = s->type,
                                    .op = combining(&r->access[a], s),
                                    .flag = (uint32_t)s->flag };
        w.access[a].boxes = s->kind == RG_TOKEN ? 0 : n->boxes[a].count;
        for (uint32_t b = 0; b < w.access[a].boxes; b++, at++)
            for (int d = 0; d < 3; d++) {
                w.box[at].first[d] = (uint16_t)p->box[n->boxes[a].first + b].first[d];
                w.box[at].count[d] = (uint16_t)p->box[n->boxes[a].first + b].count[d];
            }
    }
    return w;
}

/* The first access that has bytes; the number of accesses: none has. */
static uint32_t with_bytes(const struct rg_program *p, const struct rg_record *r)
{
    uint32_t a = 0;
    while (a < r->access_count && p->slot[r->access[a].slot].kind == RG_TOKEN)
        a++;
    return a;
}

rondo_node rg_device_kernel(const struct rg_run *run, uint32_t record, uint32_t version,
                            const rondo_param *param, rondo_subgraph subgraph, rondo_kernel_desc *d)
{
    static const uint64_t none[4];
    const struct rg_program *p = run->program;
    const struct rg_record *r = &p->record[record];
    const uint32_t any = with_bytes(p, r);
    struct kernel_work w = work_of(p, record, version);
    rondo_kernel_arg arg[RG_ACCESSES + 4];
    d->format = RONDO_OPENCL_C;
    d->image = whole_image();
    d->image_bytes = strlen(d->image);
    d->on = RONDO_GPU((uint32_t)r->device % run->devices);
    d->dimensions = 1 + record % 3;
    for (uint32_t k = 0; k < d->dimensions; k++)
        d->global[k] = d->local[k] = 1;
    d->args = arg;
    if (any == r->access_count) {
        d->entry = "nothing";
        arg[d->arg_count++] = rondo_arg_value(&w.hash, sizeof w.hash);
        return rondo_record_kernel(subgraph, d);
    }
    d->entry = r->by_address ? "by_address" : "by_value";
    for (uint32_t a = 0; a < RG_ACCESSES; a++) {
        int is = a < r->access_count && p->slot[r->access[a].slot].kind != RG_TOKEN;
        arg[d->arg_count++] = rondo_arg_access(is ? a : any);
    }
    for (uint32_t i = 0; i < 3; i++)
        arg[d->arg_count++] = i >= r->param_count ? (r->by_address ? rondo_arg_access(any)
                                                                   : rondo_arg_value(none, 32))
                              : r->by_address     ? rondo_arg_param_address(param[r->param[i]])
                                                  : rondo_arg_param(param[r->param[i]]);
    arg[d->arg_count++] = rondo_arg_value(&w, sizeof w);
    rondo_node node = rondo_record_kernel(subgraph, d);
    memset(&w, 0x5a, sizeof w); /* the recorded copies are what counts */
    memset(arg, 0x5a, sizeof arg);
    return node;
}
