/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph files that are refused, each with what it says; hostile ones, in bounded memory and time;
 * and that nothing is left of any. */
#include <criterion/criterion.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static rondo_runtime rt;

static void open_all(void)
{
    cr_assert_eq(rondo_runtime_open(&(rondo_runtime_options){ .cpus = "0" }, &rt), RONDO_OK);
}

static void close_all(void)
{
    rondo_runtime_statistics s;
    cr_assert_eq(rondo_runtime_drain(rt), RONDO_OK);
    cr_assert_eq(rondo_runtime_stats(rt, &s), RONDO_OK);
    cr_assert(!s.subgraphs && !s.buffers && !s.bytes, "%llu subgraphs, %llu buffers, %llu bytes",
              (unsigned long long)s.subgraphs, (unsigned long long)s.buffers,
              (unsigned long long)s.bytes);
    cr_assert_eq(rondo_runtime_close(rt), RONDO_OK);
}

static void refuse_bytes(const char *text, size_t bytes, const rondo_read_options *o,
                         const char *says)
{
    rondo_subgraph g = { 5 };
    rondo_status status = rondo_subgraph_read_json(rt, text, bytes, o, &g);
    cr_assert_eq(status, RONDO_ERR_INVALID, "%.200s: %d", text, status);
    cr_assert_eq(g.id, 5);
    cr_assert(!strncmp(rondo_error_message(), "line ", 5) && strstr(rondo_error_message(), says),
              "'%s' is not '%s' for %.200s", rondo_error_message(), says, text);
}

#define PLACES                                                                                     \
    "{\"rondo\":1,\n\"buffers\":[{\"name\":\"b\",\"shape\":{\"elem_bytes\":8,\"extent\":[8]}}],\n" \
    "\"slots\":[{\"name\":\"s\",\"kind\":\"fixed\",\"buffer\":0},{\"name\":\"tok\","               \
    "\"kind\":\"token\",\"shape\":{\"extent\":[4]}},{\"name\":\"two\",\"shape\":"                  \
    "{\"elem_bytes\":8,\"extent\":[4,4]}},{\"name\":\"two\",\"shape\":{\"elem_bytes\":8,"          \
    "\"extent\":[4]}}],\n\"params\":[{\"name\":\"p\",\"bytes\":8}],\n"
#define NODE(members) PLACES "\"nodes\":[{" members "}]}"
#define SLOT(members)                                                                        \
    "{\"rondo\":1,\"buffers\":[{\"shape\":{\"elem_bytes\":8,\"extent\":[8]}}],\n\"slots\":[" \
    "{" members "}]}"
#define FILE_(members) "{\"rondo\":1," members "}"
#define IMAGE(members) FILE_("\"images\":[{" members "}]")
#define KERNEL_OPEN(members)                                                                   \
    PLACES "\"images\":[{\"text\":\"kernel void k() {}\"}],\n\"nodes\":[{\"kind\":\"kernel\"," \
           "\"format\":\"opencl_c\",\"entry\":\"k\"," members
#define KERNEL(members) KERNEL_OPEN(members) "}]}"
#define ON_S            "\"accesses\":[{\"slot\":\"s\",\"mode\":\"write\"}],\"image\":0,\"global\":[8]"
#define SHAPE(members)  "{\"rondo\":1,\"buffers\":[{\"shape\":{" members "}}]}"

static const struct {
    const char *text, *says;
} refused[] = {
    /* what is no JSON, or no file */
    { "", "line 1, column 1: the text ends where '{' is expected" },
    { "  \n [", "line 2, column 2: '[' where '{' is expected" },
    { "{", "line 1, column 2: the text ends where a value is expected" },
    { "{}", "line 1: 'rondo' is missing" },
    { "{\"rondo\":1}x", "line 1, column 12: something behind the end" },
    { "{\"rondo\":1,}", "'}' where '\"' is expected" },
    { "{\"rondo\":1 \"name\":\"a\"}", "'\"' where '}' is expected" },
    { "{\"rondo\" 1}", "'1' where ':' is expected" },
    { "{\"rondo\":}", "'}' where a value is expected" },
    { "{\"rondo\":2}", "line 1: rondo: this library reads version 1" },
    { "{\"rondo\":\"1\"}", "this library reads version 1" },
    { "{\"rondo\":1,\n\"rondo\":1}", "line 2, column 1: 'rondo' for the second time" },
    { "{\"r\\u006fndo\":1,\"rondo\":1}", "for the second time" },
    { FILE_("\"slot\":[]"), "line 1: 'slot' is no key of a graph file; 'slots' is the nearest" },
    { FILE_("\"name\":7"), "name: a string is expected" },
    { FILE_("\"name\":\"a"), "column 19: a string without an end" },
    { FILE_("\"name\":\"a\nb\""), "a line ends inside of a string" },
    { FILE_("\"name\":\"\xc0\x80\""), "decode byte 0xc0" },
    { FILE_("\"name\":\"\\ud800\""), "invalid Unicode" },
    { FILE_("\"name\":\"\\u0000\""), "\\u0000" },
    { FILE_("\"name\":nul"), "invalid token" },
    { FILE_("\"edges_explicit\":1"), "edges_explicit: true or false is expected" },
    { FILE_("\"nodes\":{}"), "'nodes' is no array" },
    { FILE_("\"nodes\":[{}"), "the text ends where '}' is expected" },
    { FILE_("\"nodes\":[{},]"), "']' where a value is expected" },
    { FILE_("\"nodes\":[{} {}]"), "'{' where ',' is expected" },
    { FILE_("\"nodes\":[{]]"), "line 1, column 22" },
    { FILE_("\"nodes\":[\n7]"), "line 2: nodes[0]: an object is expected" },
    { FILE_("\"nodes\":[{\"tag\":1,\n\"tag\":1}]"), "line 2, column 5: duplicate object key" },
    { FILE_("\"nodes\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]"),
      "more than 16 values in each other" },
    { FILE_("\"nodes\":[{\"tag\":99999999999999999999}]"), "too big integer" },
    { FILE_("\"nodes\":[{\"tag\":01}]"), "line 1, column" },
    { FILE_("\"nodes\":[{\"tag\":\x01}]"), "a byte 0x01 that begins no value" },
    /* shapes and buffers */
    { SHAPE("\"extent\":[1]"), "buffers[0] 'buffer': shape: 'elem_bytes' is missing" },
    { SHAPE("\"elem_bytes\":8"), "shape: 'extent' is missing" },
    { SHAPE("\"elem_bytes\":0,\"extent\":[1]"), "elem_bytes is 0" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[]"), "shape.extent: its first is 0" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[1,1,1,1]"), "shape.extent: 4 numbers, not up to 3" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[2,-1]"), "shape.extent[1]: -1 is less than 0" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[2.0]"), "shape.extent[0]: 2 is not a whole number" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[4],\"pitch_bytes\":[8]"), "pitch_bytes[0] is 8" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[9223372036854775807,9223372036854775807]"),
      "are too many" },
    { SHAPE("\"elem_bytes\":8,\"extent\":[134217729]"),
      "1073741832 bytes of buffers and parameters, and 0 before, are more than 1073741824" },
    { SHAPE("\"elem_bytes\":8,\"extents\":[1]"), "'extents' is no key of a shape; 'extent' is" },
    { FILE_("\"buffers\":[{\"shape\":{\"elem_bytes\":1,\"extent\":[1]},\"offset\":1}]"),
      "offset: without a memory" },
    { FILE_("\"buffers\":[{\"shape\":{\"elem_bytes\":1,\"extent\":[1]},\"memory\":1}]"),
      "memory: 1 of 1 buffers" },
    { FILE_("\"buffers\":[{\"shape\":{\"elem_bytes\":1,\"extent\":[1]},\"memory\":0,"
            "\"offset\":4000000000000000000}]"),
      "bytes of buffers and parameters" },
    /* slots */
    { SLOT("\"kind\":\"fixed\""), "line 2: slots[0] 'slot': 'buffer' is missing" },
    { SLOT("\"kind\":\"fixed\",\"buffer\":1"), "buffer: buffer 1 of 1" },
    { SLOT("\"kind\":\"ring\",\"buffers\":[]"), "buffers: 0 buffers in a ring" },
    { SLOT("\"kind\":\"ring\",\"buffers\":[0,0,9]"), "buffers: buffer 9 of 1" },
    { SLOT("\"kind\":\"ring\",\"buffers\":[0],\"first\":1"), "ring_first 1" },
    { SLOT("\"kind\":\"bound\",\"buffer\":0"), "'buffer' is no key of a slot of this kind" },
    { SLOT("\"kind\":\"bond\""), "kind: 'bond' is none of its values; 'bound' is the nearest" },
    { SLOT("\"name\":\"x\""), "slots[0] 'x': 'shape' is missing" },
    { SLOT("\"kind\":\"fixed\",\"buffer\":0,\"shape\":{\"elem_bytes\":8,\"extent\":[9]}"),
      "slots[0]: slot 'slot': its shape spans 72 bytes, buffer 'buffer' has 64" },
    { SLOT("\"kind\":\"token\",\"shape\":{\"elem_bytes\":8,\"extent\":[1]}"),
      "shape.elem_bytes: a token has no bytes" },
    { SLOT("\"shape\":{\"elem_bytes\":8,\"extent\":[1]},\"alias_of\":0"), "alias_of: slot 0 of 0" },
    { SLOT("\"shape\":{\"elem_bytes\":8,\"extent\":[1]},\"alias_of\":\"b\""),
      "alias_of: no slot before it is named 'b'" },
    { SLOT("\"shape\":{\"elem_bytes\":8,\"extent\":[1]},\"zeroed\":true"), "'zeroed' is no key" },
    /* parameters */
    { FILE_("\"params\":[{}]"), "params[0] 'param': 'bytes' is missing" },
    { FILE_("\"params\":[{\"bytes\":0}]"), "bytes is 0" },
    { FILE_("\"params\":[{\"bytes\":4294967296}]"), "4294967296 is more than 4294967295" },
    { FILE_("\"params\":[{\"bytes\":4294967295}]"), "more than 1073741824" },
    { FILE_("\"params\":[{\"bytes\":2,\"initial\":\"00\"}]"), "1 bytes, the parameter has 2" },
    { FILE_("\"params\":[{\"bytes\":2,\"initial\":\"000\"}]"), "3 digits, two are a byte" },
    { FILE_("\"params\":[{\"bytes\":2,\"initial\":\"00-1\"}]"), "'-1' at digit 2" },
    /* nodes */
    { NODE("\"kind\":\"tusk\""), "line 5: nodes[0]: kind: 'tusk' is none of its values; 'task'" },
    { NODE("\"kind\":\"call\",\"tag\":1"), "'tag' is no key of a call" },
    { NODE("\"acceses\":[]"), "'acceses' is no key of a task; 'accesses' is the nearest" },
    { NODE("\"tag\":\"1x\""), "tag: '1x' is no number of up to 64 bits" },
    { NODE("\"tag\":\"18446744073709551616\""), "is no number of up to 64 bits" },
    { NODE("\"priority\":2147483648"), "2147483648 is not within 32 bits" },
    { NODE("\"cost_ns\":-1"), "cost_ns is -1" },
    { NODE("\"cost_ns\":\"1\""), "cost_ns: a string where a number is expected" },
    { NODE("\"on\":1"), "on is RONDO_CPU(1), the runtime has 1 processors" },
    { NODE("\"on\":16777216"), "on: 16777216 is more than 16777215" },
    { NODE("\"flags\":[\"hosted\",\"smpd\"]"), "flags[1]: 'smpd' is none of its values; 'spmd'" },
    { NODE("\"flags\":[\"hosted\",\"spmd\"]"), "exclude each other" },
    { NODE("\"flags\":\"spmd\""), "flags: a string where an array is expected" },
    { NODE("\"team\":1"), "team is 1 without" },
    { NODE("\"stop_lag\":1"), "stop_lag is 1 without" },
    { NODE("\"arg\":\"\""), "arg: it is empty" },
    { NODE("\"params\":[\"q\"]"), "params[0]: no parameter is named 'q'" },
    { NODE("\"params\":[0,1]"), "params[1]: parameter 1 of 1" },
    { NODE("\"params\":[true]"), "params[0]: true or false where a whole number is expected" },
    { NODE("\"patches\":[{\"param\":0}]"), "patches[0]: 'bytes' is missing" },
    { NODE("\"arg\":\"00\",\"patches\":[{\"param\":0,\"bytes\":1,\"to\":1}]"),
      "nodes[0]: node 'task': patches[0]: bytes [1, 2) of arg, which has 1" },
    { NODE("\"chunk\":{\"first\":[1]}"), "chunk: first 1, count 0 in dimension 0" },
    { NODE("\"chunk\":{\"first\":[0,0,0],\"count\":[1,0,1]}"), "behind an absent one" },
    { NODE("\"when\":{}"), "when: an object where an array is expected" },
    { NODE("\"when\":[{},{\"every\":2,\"phase\":2}]"), "when.phase is 2, when.every 2" },
    { NODE("\"when\":[{\"flag\":\"tok\"}]"), "slot 'tok' is a token" },
    { NODE("\"when\":[{\"flg\":0}]"), "when[0]: 'flg' is no key of a condition; 'flag'" },
    { NODE("\"after\":[0]"), "after: node 0 does not come before this one, 0" },
    { NODE("\"accesses\":[{\"slot\":\"s\"}]"), "accesses[0]: 'mode' is missing" },
    { NODE("\"accesses\":[{\"mode\":\"read\"}]"), "accesses[0]: 'slot' is missing" },
    { NODE("\"accesses\":[7]"), "accesses[0]: a number where an object is expected" },
    { NODE("\"accesses\":[{\"slot\":\"two\",\"mode\":\"read\"}]"),
      "accesses[0].slot: several slots are named 'two': say its number" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"region\":{\"first\":[8]}}]"),
      "access 0 to slot 's': region begins at 8, extent is 8" },
    { NODE(
          "\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"region\":{\"first\":[0],\"count\":[9]}}]"),
      "exceeds extent 8" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"type\":\"f64\"}]"),
      "are for RONDO_REDUCE" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"reduce\"}]"), "type is 0" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"boxes\":[]}]"), "boxes: it is empty" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"boxes\":[{\"first\":[7],\"count\":[2]}]}"
           "]"),
      "boxes[0]: first 7, count 2 with extent 8 in dimension 0" },
    { NODE(
          "\"accesses\":[{\"slot\":0,\"mode\":\"read\",\"boxes\":[{},{},{},{},{},{},{},{},{},{},{},"
          "{},{},{},{},{},{}]}]"),
      "17 boxes, not 1 to 16" },
    { NODE("\"accesses\":[{\"slot\":0,\"mode\":\"reduce\",\"type\":\"f64\",\"op\":\"sum\","
           "\"region\":"
           "{\"count\":[2]},\"boxes\":[{\"count\":[3]}]}]"),
      "outside of the region of a reduction" },
    { NODE("\"flags\":[\"no_access\"],\"accesses\":[{\"slot\":0,\"mode\":\"read\"}]"),
      "RONDO_NO_ACCESS with access_count 1" },
    { NODE("\"kind\":\"copy\",\"from\":{\"slot\":0}"), "to: the slot handle is {0}" },
    { NODE("\"kind\":\"copy\",\"from\":{\"slot\":0},\"to\":{\"slot\":0}"), "overlap" },
    { NODE("\"kind\":\"copy\",\"from\":{\"slot\":0,\"mode\":\"read\"}"),
      "from: 'mode' is no key of a side of a copy" },
    { NODE("\"kind\":\"copy\",\"value\":\"00\""), "'value' is no key of a copy" },
    { NODE("\"kind\":\"fill\",\"to\":{\"slot\":0},\"value\":\"00\""), "value_bytes is 1" },
    { NODE("\"kind\":\"fill\",\"to\":{\"slot\":0}"), "value is NULL" },
    { NODE("\"kind\":\"allreduce\",\"from\":{\"slot\":0}"), "type is 0" },
    { NODE("\"kind\":\"wait\""), "'counter' is missing" },
    { NODE("\"kind\":\"wait\",\"counter\":0"), "counter: 0 is given by no callback" },
    { NODE("\"kind\":\"wait\",\"counter\":4000000"), "4000000 is not below 4000000 (most_nodes)" },
    { NODE("\"kind\":\"wait\",\"counter\":0,\"event\":\"p\""), "both a counter and an event" },
    { NODE("\"kind\":\"wait\",\"event\":\"p\""), "'p' has 8 bytes, a rondo_event 16" },
    { NODE("\"kind\":\"signal\",\"event\":\"p\""), "'event' is no key of a signal" },
    /* kernels, and what is on devices */
    { IMAGE(""), "line 1: images[0]: neither a text nor bytes" },
    { IMAGE("\"text\":\"a\",\"bytes\":\"61\""), "images[0]: both a text and bytes" },
    { IMAGE("\"text\":\"\""), "images[0]: image 0 is given, its size 0" },
    { IMAGE("\"bytes\":\"610062\""), "image 0 is text of 3 bytes, and byte 1 is 0" },
    { IMAGE("\"texts\":\"a\""), "'texts' is no key of an image; 'text' is the nearest" },
    { KERNEL("\"global\":[1]"), "line 6: nodes[0] 'k': 'image' is missing" },
    { KERNEL("\"image\":1,\"global\":[1]"), "image: image 1 of 1" },
    { KERNEL("\"image\":0"), "'global' is missing" },
    { KERNEL(ON_S ",\"local\":[3]"), "local[0] 3 does not divide global[0] 8" },
    { KERNEL(ON_S ",\"local\":[1,1,1,1]"), "local: 4 numbers, not up to 3" },
    { KERNEL("\"image\":0,\"global\":[]"), "access_count is 0" },
    { KERNEL("\"flags\":[\"no_access\"],\"image\":0,\"global\":[]"), "dimensions is 0" },
    { KERNEL("\"flags\":[\"spmd\"],\"image\":0,\"global\":[1]"), "flags 0x2: a kernel has" },
    { KERNEL(ON_S ",\"arg\":\"00\""), "'arg' is no key of a kernel; 'args' is the nearest" },
    { KERNEL(ON_S ",\"team\":2"), "'team' is no key of a kernel" },
    { KERNEL(ON_S ",\"args\":[{}]"), "args[0]: 0 of 'access', 'value'" },
    { KERNEL(ON_S ",\"args\":[{\"local\":4},{\"local\":4,\"access\":0}]"), "args[1]: 2 of" },
    { KERNEL(ON_S ",\"args\":[{\"access\":1}]"), "args[0]: access 1, and access_count is 1" },
    { KERNEL(ON_S ",\"args\":[{\"value\":\"\"}]"), "args[0]: bytes is 0 of RONDO_ARG_VALUE" },
    { KERNEL(ON_S ",\"args\":[{\"value\":\"0\"}]"), "args[0].value: 1 digits" },
    { KERNEL(ON_S ",\"args\":[{\"param\":\"q\"}]"), "args[0].param: no parameter is named 'q'" },
    { KERNEL(ON_S ",\"args\":[{\"local\":0}]"), "args[0]: bytes is 0 of RONDO_ARG_LOCAL" },
    { KERNEL(ON_S ",\"args\":[{\"slot\":0}]"), "args[0]: 'slot' is no key of an argument" },
    { KERNEL(ON_S ",\"on\":0"), "on is RONDO_CPU(0), it runs on a device" },
    { KERNEL(ON_S ",\"on\":\"gpu\""), "on: 'gpu' is no device: \"gpu 0\" is the first" },
    { KERNEL(ON_S ",\"on\":\"gpu x\""), "on: 'gpu x' is no device" },
    { KERNEL(ON_S ",\"on\":\"gpu 1 \""), "on: 'gpu 1 ' is no device" },
    { KERNEL(ON_S ",\"on\":\"gpu 99999999999999999999\""), "is no device" },
    { KERNEL(ON_S ",\"on\":\"gpu 16\""), "on is RONDO_GPU(16), a runtime has at most 16" },
    { NODE("\"kind\":\"kernel\",\"format\":\"opencl_c\""), "'image' is missing" },
    { NODE("\"kind\":\"kernel\",\"image\":0"), "image: image 0 of 0" },
    { NODE("\"kind\":\"launch\""), "nodes[0]: node 'launch': access_count is 0, a launch names" },
    { NODE("\"kind\":\"launch\",\"stop_lag\":1"), "'stop_lag' is no key of a launch" },
    { NODE("\"kind\":\"launch\",\"flags\":[\"hosted\"]"), "flags 0x1: a launch has" },
    { NODE("\"on\":\"gpu 0\""), "on is RONDO_GPU(0), and it runs on a CPU" },
    { SLOT("\"kind\":\"fixed\",\"buffer\":0,\"at_end\":\"there\""),
      "at_end: 'there' is no device" },
    { SLOT("\"kind\":\"fixed\",\"buffer\":0,\"at_end\":\"gpu 16\""),
      "at_end is RONDO_GPU_MEMORY(16)" },
    { SLOT("\"kind\":\"token\",\"shape\":{\"extent\":[1]},\"at_end\":\"host\""),
      "'at_end' is no key" },
    /* edges */
    { FILE_("\"nodes\":[{}],\"edges\":[{\"from\":0}]"), "edges[0]: 'to' is missing" },
    { FILE_("\"nodes\":[{}],\"edges\":[{\"from\":0,\"to\":1}]"), "to: node 1 of 1" },
    { FILE_("\"nodes\":[{}],\"edges\":[{\"from\":0,\"to\":0,\"distance\":256}]"), "distance 256" },
};

Test(graph_refused, each_with_its_reason)
{
    open_all();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse_bytes(refused[i].text, strlen(refused[i].text), NULL, refused[i].says);
    close_all();
}

Test(graph_refused, arguments)
{
    rondo_subgraph g;
    const char *text = "{\"rondo\":1}";
    open_all();
    cr_assert_eq(rondo_subgraph_read_json(rt, NULL, 0, NULL, &g), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "rondo_subgraph_read_json: `text` is NULL");
    cr_assert_eq(rondo_subgraph_read_json(rt, text, 11, NULL, NULL), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "rondo_subgraph_read_json: `subgraph` is NULL");
    cr_assert_eq(rondo_subgraph_read_json(rt, text, ((size_t)1 << 30) + 1, NULL, &g),
                 RONDO_ERR_INVALID);
    cr_assert(strstr(rondo_error_message(), "1073741825 bytes is more than 1073741824"), "%s",
              rondo_error_message());
    cr_assert_eq(rondo_subgraph_read_json(rt, text, 11, NULL, &g), RONDO_OK);
    cr_assert_eq(rondo_subgraph_write_json(g, NULL, NULL), RONDO_ERR_INVALID);
    cr_assert_str_eq(rondo_error_message(), "rondo_subgraph_write_json: `write` is NULL");
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    close_all();
    cr_assert_eq(rondo_subgraph_read_json(rt, text, 11, NULL, &g), RONDO_ERR_STALE);
}

/* A text cut anywhere is refused. */
Test(graph_refused, cut_short)
{
    const char *text = NODE("\"accesses\":[{\"slot\":\"s\",\"mode\":\"read\"}],\"arg\":\"00\"");
    rondo_subgraph g;
    open_all();
    for (size_t n = 0; n < strlen(text); n++)
        refuse_bytes(text, n, NULL, "line ");
    cr_assert_eq(rondo_subgraph_read_json(rt, text, strlen(text), NULL, &g), RONDO_OK);
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    close_all();
}

/* ---- much of something */

/* `begin`, `count` times `part`, `end`; freed by the caller. */
static char *many(const char *begin, const char *part, size_t count, const char *end)
{
    size_t n = strlen(part), at = strlen(begin);
    char *text = malloc(at + n * count + strlen(end) + 1);
    cr_assert(text);
    memcpy(text, begin, at);
    for (size_t i = 0; i < count; i++, at += n)
        memcpy(text + at, part, n);
    memcpy(text + at, end, strlen(end) + 1);
    return text;
}

static void refuse_many(const char *begin, const char *part, size_t count, const char *end,
                        const char *says)
{
    static const rondo_read_options few = { .most_nodes = 1000 };
    char *text = many(begin, part, count, end);
    refuse_bytes(text, strlen(text), &few, says);
    free(text);
}

Test(graph_refused, too_much_of_it)
{
    open_all();
    refuse_many("{\"rondo\":1,\"nodes\":[{}", ",{}", 1000, "]}", "1001 nodes are more than 1000");
    refuse_many("{\"rondo\":1,\"nodes\":[{}],\"edges\":[{\"from\":0,\"to\":0}",
                ",{\"from\":0,\"to\":0}", 1000, "]}", "1001 edges by hand are more than 1000");
    refuse_many("{\"rondo\":1,\"nodes\":[{},{\"after\":[0", ",0", 1000, "]}]}",
                "1001 nodes are more than 1000");
    refuse_many("{\"rondo\":1,\"params\":[{\"bytes\":1}", ",{\"bytes\":1}", 1000, "]}",
                "1001 parameters are more than 1000");
    refuse_many(PLACES "\"nodes\":[{\"when\":[{\"param\":0}", ",{\"param\":0}", 1000, "]}]}",
                "1001 conditions are more than 1000");
    refuse_many(PLACES "\"nodes\":[{\"accesses\":[{\"slot\":0,\"mode\":\"read\"}",
                ",{\"slot\":0,\"mode\":\"read\"}", 1000, "]}]}",
                "1001 accesses are more than 1000");
    refuse_many("{\"rondo\":1,\"images\":[{\"text\":\"a\"}", ",{\"text\":\"a\"}", 1000, "]}",
                "1001 images are more than 1000");
    refuse_many(KERNEL_OPEN(ON_S ",\"args\":[{\"local\":1}"), ",{\"local\":1}", 1000, "]}]}",
                "1001 arguments of kernels are more than 1000");
    close_all();
}

static size_t peak_bytes(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss << 10;
}

/* Texts of some megabytes whose trees would take gigabytes. */
Test(graph_refused, trees_that_are_too_large)
{
    const size_t before = peak_bytes(), parts = 4000000;
    open_all();
    refuse_many("{\"rondo\":1,\"nodes\":[{\"after\":[[]", ",[]", parts, "]}]}",
                "a value that takes more than 512 MiB to parse");
    refuse_many("{\"rondo\":1,\"nodes\":[{}", ",{}", parts, "]}", "1001 nodes");
    refuse_many("{\"rondo\":1,\"name\":[{}", ",{}", parts, "]}", "a value that takes more than");
    refuse_many("{\"rondo\":1,\"nodes\":[{\"arg\":\"", "000", parts * 12, "\"}]}",
                "a value that takes more than 512 MiB to parse");
    refuse_many("", "[[", parts, "", "'[' where '{' is expected");
    refuse_many("{\"rondo\":1,\"nodes\":", "[[", parts, "", "more than 16 values in each other");
    cr_assert_lt(peak_bytes() - before, (size_t)700 << 20);
    close_all();
}

/* What is within the limits is read, whatever it is. */
Test(graph_refused, a_large_one_is_not)
{
    const size_t nodes = 100000;
    rondo_subgraph g;
    char *text =
        many(PLACES "\"nodes\":[{}",
             ",\n{\"name\":\"n\",\"accesses\":[{\"slot\":\"s\",\"mode\":\"read\",\"region\":"
             "{\"first\":[1],\"count\":[2]}}],\"after\":[0],\"params\":[\"p\"]}",
             nodes, "]}");
    open_all();
    cr_assert_eq(rondo_subgraph_read_json(rt, text, strlen(text), NULL, &g), RONDO_OK, "%s",
                 rondo_error_message());
    cr_assert_eq(rondo_subgraph_destroy(g), RONDO_OK);
    free(text);
    close_all();
}
