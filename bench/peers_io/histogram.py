"""Decodes HdrHistogram's compressed encoding V2, which runners print, and finds percentiles.

https://github.com/HdrHistogram/HdrHistogram, `AbstractHistogram.encodeIntoByteBuffer`: a header, then counts from the
lowest bucket on as zigzag LEB128. A negative count -n stands for n empty buckets.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter

COOKIE, COMPRESSED_COOKIE = 0x1C849303, 0x1C849304
COOKIE_MASK = ~0xF0
"""The masked bits are the width of counts in version 1."""
HEADER = struct.Struct(">iiiiqqd")


def decode(text: str) -> Counter[int]:
    """The count of each value. A value is the lowest of its bucket."""
    packed = base64.b64decode(text)
    cookie, length = struct.unpack_from(">ii", packed)
    if cookie & COOKIE_MASK != COMPRESSED_COOKIE & COOKIE_MASK:
        raise ValueError(f"not a compressed histogram of version 2: {cookie:#x}")
    plain = zlib.decompress(packed[8 : 8 + length])
    cookie, payload, _, digits, lowest, _, _ = HEADER.unpack_from(plain)
    if cookie & COOKIE_MASK != COOKIE & COOKIE_MASK:
        raise ValueError(f"not a histogram of version 2: {cookie:#x}")
    half_bits = (2 * 10**digits - 1).bit_length() - 1
    unit_bits = max(lowest, 1).bit_length() - 1
    counts: Counter[int] = Counter()
    index = 0
    for count in _numbers(plain[HEADER.size : HEADER.size + payload]):
        if count < 0:
            index -= count
            continue
        if count:
            counts[_value(index, half_bits) << unit_bits] = count
        index += 1
    return counts


def _value(index: int, half_bits: int) -> int:
    """The lowest value of a bucket. The first two halves have steps of 1, and each further half doubles the step."""
    octave = max(0, (index >> half_bits) - 1)
    return (index - (octave << half_bits)) << octave


def _numbers(payload: bytes):
    value = shift = taken = 0
    for byte in payload:
        taken += 1
        # The ninth byte has no continuation bit.
        value |= (byte if taken == 9 else byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or taken == 9:
            yield (value >> 1) ^ -(value & 1)
            value = shift = taken = 0


def at_share(counts: Counter[int], share: float) -> int:
    """The value that this share of all values does not exceed."""
    left = share * counts.total()
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    raise ValueError("an empty histogram")
