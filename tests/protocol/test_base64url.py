from base64 import urlsafe_b64encode

import numpy as np
import pytest

from kip848_records.protocol.base64url import uuid_text

COUNTING = [number.to_bytes(16, "big") for number in range(1000)]
SAME_END = [number.to_bytes(8, "big") + b"the same" for number in range(1000)]
BYTES = [bytes([number % 256] * 16) for number in range(1000)]


@pytest.mark.parametrize(
    "ids", [[], COUNTING[:1], COUNTING, COUNTING[:7] * 200, SAME_END, BYTES], ids=lambda ids: str(len(ids))
)
def test_uuid_text(ids):
    raw = np.frombuffer(b"".join(ids), "V16")
    assert uuid_text(raw).to_pylist() == [urlsafe_b64encode(one).decode().rstrip("=") for one in ids]
