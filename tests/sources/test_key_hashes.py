"""Hashes of keys, which are slices of a buffer."""

import numpy as np

from kip848_records.sources.key_hashes import WORD, hashes_of

PADDING = bytes(WORD)


def hash_of(key, before=PADDING, behind=b""):
    return int(hashes_of(before + key + behind, np.array([len(before)]), np.array([len(key)]))[0])


def test_what_stands_around_a_key_does_not_matter_and_it_may_end_the_buffer():
    for size in range(1, 3 * WORD):
        key = bytes(range(1, size + 1))
        assert hash_of(key) == hash_of(key, b"\xff" * WORD + b"other", b"others")


def test_each_byte_of_a_key_counts_and_so_does_its_size():
    key = bytes(range(1, 3 * WORD))
    others = [key[:at] + b"\0" + key[at + 1 :] for at in range(len(key))] + [key[:-1], b"\0" + key]
    assert len({hash_of(each) for each in (key, *others)}) == len(others) + 1
