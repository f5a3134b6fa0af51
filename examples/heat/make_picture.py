#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws rondo.png, the heat example's initial field: the name inside two rings.

Shapes are distance fields, so edges are smooth; only the standard library is needed.
usage: make_picture.py rondo.png
"""
import math
import struct
import sys
import zlib

SIDE = 512


def segment(x, y, ax, ay, bx, by):
    """The distance from (x, y) to the segment a-b."""
    px, py, dx, dy = x - ax, y - ay, bx - ax, by - ay
    t = max(0.0, min(1.0, (px * dx + py * dy) / (dx * dx + dy * dy)))
    return math.hypot(px - t * dx, py - t * dy)


def ellipse(x, y, cx, cy, rx, ry):
    """Roughly the distance from (x, y) to the ellipse's line."""
    u, v = (x - cx) / rx, (y - cy) / ry
    length = math.hypot(u, v)
    if length == 0:
        return min(rx, ry)
    slope = math.hypot(u / rx, v / ry) / length
    return abs(length - 1) / slope


def half(x, y, cx, cy, rx, ry):
    """The right half of an ellipse, open to the left."""
    if x >= cx:
        return ellipse(x, y, cx, cy, rx, ry)
    return min(math.hypot(x - cx, y - cy + ry), math.hypot(x - cx, y - cy - ry))


TOP, BOTTOM, WIDTH = 210, 302, 52
MIDDLE = (TOP + BOTTOM) / 2


def letter(name, x, y, left):
    right, height = left + WIDTH, (BOTTOM - TOP) / 2
    if name == "O":
        return ellipse(x, y, (left + right) / 2, MIDDLE, WIDTH / 2, height)
    stem = segment(x, y, left, TOP, left, BOTTOM)
    if name == "N":
        return min(stem, segment(x, y, right, TOP, right, BOTTOM),
                   segment(x, y, left, TOP, right, BOTTOM))
    if name == "D":
        return min(stem, segment(x, y, left, TOP, left + 10, TOP),
                   segment(x, y, left, BOTTOM, left + 10, BOTTOM),
                   half(x, y, left + 10, MIDDLE, WIDTH - 10, height))
    quarter = (MIDDLE + 4 - TOP) / 2  # R
    return min(stem, segment(x, y, left, TOP, left + 22, TOP),
               segment(x, y, left, MIDDLE + 4, left + 22, MIDDLE + 4),
               half(x, y, left + 22, TOP + quarter, WIDTH - 24, quarter),
               segment(x, y, left + 20, MIDDLE + 4, right, BOTTOM))


def value(x, y):
    """0 to 1: how hot the point is."""
    word = min(letter(name, x, y, 78 + i * 76) for i, name in enumerate("RONDO"))
    heat = [min(1.0, max(0.0, 9.5 - word))]
    radius = math.hypot(x - SIDE / 2, y - SIDE / 2)
    turn = math.atan2(y - SIDE / 2, x - SIDE / 2) / (2 * math.pi) + 0.5
    for middle, width, beads in ((228, 9, 24), (206, 4, 0)):
        line = min(1.0, max(0.0, width - abs(radius - middle)))
        if beads:
            line *= 0.35 + 0.65 * ((turn * beads) % 1 < 0.6)
        heat.append(line)
    return max(heat)


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def main():
    rows = bytearray()
    for y in range(SIDE):
        rows.append(0)
        rows.extend(round(255 * value(x, y)) for x in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    with open(sys.argv[1], "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                   + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    main()
