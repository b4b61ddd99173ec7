"""Counts in a log of HdrHistograms (the format of HdrHistogram V2, compressed): how many times are at a limit or above."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

SUB_BUCKETS = 2048
"""Of three significant digits."""
HEADER = 40
"""Cookie, length of the counts, offset, digits, lowest, highest (8 bytes each), and a ratio (8 bytes)."""


def late(path: Path, limit_us: int, tag: str = "response") -> tuple[int, int]:
    """How many times of the histograms with this tag are at the limit or above, and how many there are."""
    above = count = 0
    for line in path.read_text().splitlines():
        fields = line.split(",")
        if line.startswith(("#", '"')) or tag not in fields[0]:
            continue
        for us, number in _counts(base64.b64decode(fields[-1])):
            count += number
            above += number if us >= limit_us else 0
    return above, count


def _counts(packed: bytes):
    payload = zlib.decompress(packed[8:])
    (length,) = struct.unpack(">i", payload[4:8])
    index = at = 0
    encoded = payload[HEADER : HEADER + length]
    while at < len(encoded):
        number, at = _zigzag(encoded, at)
        if number < 0:
            index -= number
        else:
            if number:
                yield _value(index), number
            index += 1


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(9):
        byte = data[at + place]
        # The ninth byte has all of its eight bits.
        value |= (byte if place == 8 else byte & 0x7F) << shift
        shift += 7
        if place == 8 or not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise ValueError("a number of more than nine bytes")


def _value(index: int) -> int:
    half = SUB_BUCKETS // 2
    bucket = index // half - 1
    sub = index % half + half
    return index if bucket < 0 else sub << bucket
