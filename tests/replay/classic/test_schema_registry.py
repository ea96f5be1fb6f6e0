"""What instances of Schema Registry write is read, bounded, and never trusted."""

import json
from random import Random
from types import SimpleNamespace

import pytest

from kip848_records.replay.classic.schema_registry import SchemaRegistryRules

IDENTITY = {"host": "sr", "port": 8081, "master_eligibility": True, "scheme": "https", "version": 1}
ASSIGNMENT = {"error": 1, "master": "sr-1-id", "master_identity": IDENTITY, "version": 1}


def written(value):
    return json.dumps(value).encode()


def read(subscription, assignment):
    """The URL, what is undecoded, and the error of the generation."""
    member = SimpleNamespace(subscription_bytes=subscription, assignment_bytes=assignment)
    generation = SimpleNamespace(first_value=SimpleNamespace(members=(member,)))
    rules = SchemaRegistryRules(None)
    columns = rules.member_columns(generation, member)
    return columns.url, columns.undecoded, rules.generation_columns(generation).error


def test_the_url_and_the_error_are_read():
    assert read(written(IDENTITY), written(ASSIGNMENT)) == ("https://sr:8081", None, 1)
    assert read(written(IDENTITY), written({"master": "x"})) == ("https://sr:8081", None, 0)


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        (None, "is empty"),
        (b"{", "is not JSON"),
        (b"\xff\xfe\xfd", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b'{"error": ' + 5_000 * b"9" + b"}", "is not JSON"),
        (b"[" * 50_000, "is not the JSON of a Schema Registry instance"),
        (b" " * 70_000, "has 70,000 bytes, more than 65,536"),
        (b'{"error": "1"}', "has an error that is no number of 16 bits"),
        (b'{"error": 70000}', "has an error that is no number of 16 bits"),
    ],
)
def test_what_does_not_decode_is_said_to_be_so(assignment, reason):
    assert read(written(IDENTITY), assignment) == ("https://sr:8081", f"the assignment {reason}", None)


def test_damaged_bytes_never_stop_the_replay():
    rng, whole = Random(848), (written(IDENTITY), written(ASSIGNMENT))  # noqa: S311 - no secret
    undecoded = 0
    for _ in range(2_000):
        payloads = []
        for payload in whole:
            damaged = bytearray(payload)
            for _ in range(rng.randrange(3)):
                place = rng.randrange(len(damaged))
                damaged[place : place + 3] = rng.choice([rng.randbytes(3), b"[{", b"9" * 50, b"null", b""])
                damaged = damaged or bytearray(b"0")
            payloads.append(bytes(damaged))
        _, reason, _ = read(*payloads)
        undecoded += reason is not None
    assert 0 < undecoded < 2_000
