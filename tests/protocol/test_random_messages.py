"""Damaged messages: the columnar decoder gives the verdict and the values of the plain one, for each row."""

import random

import pyarrow as pa

from kip848_records.protocol.columnar import decode
from kip848_records.protocol.columnar.errors import Error
from tests.protocol.plain_decoder import BadMessageError, plain_decode
from tests.protocol.samples import messages_by_layout

SEED = 848
INPUTS = 100_000
BATCH = 500
SHORT = 400  # bytes: long messages cost much and show no more
TELLING = (0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0x81, 0xFE, 0xFF)


def mutate(rng: random.Random, message: bytes, other: bytes) -> bytes:
    data = bytearray(message)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
        at = rng.randint(0, len(data))
        length = rng.choice((1, 1, 2, 4, 16))
        match rng.randrange(7):
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
            case _:
                data[at:] = other[rng.randint(0, len(other)) :]
    return bytes(data)


def check(layout, messages: list[bytes]) -> int:
    """Compare the decoders; return how many messages are good."""
    decoded = decode(layout, pa.array(messages, pa.binary()))
    good = 0
    rows = zip(messages, decoded.values.to_pylist(), decoded.errors, decoded.positions, strict=True)
    for message, value, error, position in rows:
        expected = plain(layout, message)
        assert value == expected, message.hex()
        if expected is None:
            assert error != Error.NONE, message.hex()
            assert 0 <= position <= len(message), message.hex()
        else:
            assert (Error(error), position) == (Error.NONE, -1), message.hex()
            good += 1
    return good


def plain(layout, message: bytes) -> dict | None:
    try:
        return plain_decode(layout, message)
    except BadMessageError:
        return None


def test_damaged_messages():
    rng = random.Random(SEED)  # noqa: S311 - not for secrets
    samples = {
        layout: short
        for layout, messages in messages_by_layout().items()
        if (short := [m for m in messages if len(m) < SHORT])
    }
    good = 0
    for _ in range(INPUTS // BATCH // len(samples) + 1):
        for layout, messages in samples.items():
            good += check(layout, [mutate(rng, rng.choice(messages), rng.choice(messages)) for _ in range(BATCH)])
    assert INPUTS * 0.1 < good < INPUTS * 0.9


def test_random_bytes():
    rng = random.Random(SEED)  # noqa: S311 - not for secrets
    for layout in messages_by_layout():
        check(layout, [bytes(rng.choice(TELLING) for _ in range(rng.randrange(40))) for _ in range(200)])
