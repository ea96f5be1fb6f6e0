"""Damages encoded messages, at random and as hostile writers would."""

import random

from kip848_records.protocol.encode import uvarint

TELLING = (0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
"""Bytes at which lengths, markers and varints change their meaning."""

LENGTHS = (
    *(number.to_bytes(4, "big", signed=True) for number in (2**31 - 1, 2**30, 2**16, -1, -2, -(2**31))),
    *(number.to_bytes(2, "big", signed=True) for number in (2**15 - 1, -1, -(2**15))),
    *(uvarint(number) for number in (2**15, 2**15 + 1, 2**28, 2**31 - 1, 2**31, 2**32 - 1, 2**35 - 1)),
    b"\x80\x80\x80\x80\x00",
    b"\x81\x80\x80\x80\x80\x00",
    b"\xff" * 6,
    b"\xff" * 9 + b"\x01",
    b"\xff" * 10 + b"\x01",
)
"""The largest, the negative and the needlessly long, as int32, int16 and varint."""


def mutate(rng: random.Random, message: bytes, other: bytes) -> bytes:
    """Change `message` in no place or up to five; its end may become one of `other`'s."""
    data = bytearray(message)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
        at = rng.randint(0, len(data))
        length = rng.choice((1, 1, 2, 4, 16))
        match rng.randrange(8):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = rng.randbytes(length)
            case 3:
                data[at : at + length] = bytes(rng.choice(TELLING) for _ in range(length))
            case 4:
                data[at : at + 1] = bytes([rng.choice(TELLING)])
            case 5:
                data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b"\x00"
            case 6:
                data[at : at + rng.choice((0, 1, 2, 4))] = rng.choice(LENGTHS)
            case _:
                data[at:] = other[rng.randint(0, len(other)) :]
    return bytes(data)
