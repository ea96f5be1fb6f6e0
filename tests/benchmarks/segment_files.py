"""Writes the segment files of a simulated log as a broker would keep them, as columns: a million rows take seconds."""

import multiprocessing
import os
import struct
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tests.protocol.segment_writer import compress, frame

SEGMENT_BYTES = 100 << 20  # `offsets.topic.segment.bytes`
RECORDS_A_BATCH = 100
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_SEVEN_BITS = 7
_LONGEST_VARINT = 5


def write_segments(log: Path, folder: Path, codec: str = "none") -> None:
    """Write the partitions of a simulated log (`Simulated.log`) below `folder`, all cores at a time."""
    files = sorted(log.glob("partition-*.parquet"), key=lambda file: -file.stat().st_size)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_write_partition, files, [folder] * len(files), [codec] * len(files)))


def _write_partition(file: Path, folder: Path, codec: str) -> None:
    partition = int(file.stem.removeprefix("partition-"))
    target = folder / f"__consumer_offsets-{partition}"
    target.mkdir(parents=True)
    written, segment = 0, target / f"{0:020}.log"
    with pq.ParquetFile(file) as rows:
        for number in range(rows.num_row_groups):
            part = rows.read_row_group(number, columns=["key", "value", "offset", "timestamp"]).combine_chunks()
            if written >= SEGMENT_BYTES:
                written, segment = 0, target / f"{part['offset'][0].as_py():020}.log"
            data = b"".join(_batches(part, codec))
            with segment.open("ab") as out:
                out.write(data)
            written += len(data)


def _batches(rows: pa.Table, codec: str) -> list[bytes]:
    offset = rows["offset"].to_numpy()
    time = rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_numpy()
    first = np.arange(0, len(offset), RECORDS_A_BATCH)
    last = np.minimum(first + RECORDS_A_BATCH, len(offset)) - 1
    batch = np.arange(len(offset)) // RECORDS_A_BATCH
    records = _records(rows, offset - offset[first][batch], time - time[first][batch])
    ends = np.concatenate([[0], np.cumsum(pc.binary_length(records).to_numpy())])
    content = records.buffers()[2]
    newest = np.maximum.reduceat(time, first)
    batches = []
    for place, (start, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        head = struct.pack(
            ">hiqqqhii",
            ("none", "gzip", "snappy", "lz4", "zstd").index(codec),
            int(offset[end] - offset[start]),
            int(time[start]),
            int(newest[place]),
            -1,
            -1,
            -1,
            end + 1 - start,
        )
        body = content.slice(int(ends[start]), int(ends[end + 1] - ends[start])).to_pybytes()
        batches.append(frame(int(offset[start]), head + compress(codec, body)))
    return batches


def _records(rows: pa.Table, offset_delta: NDArray[np.int64], time_delta: NDArray[np.int64]) -> pa.LargeBinaryArray:
    key, value = (rows[name].combine_chunks() for name in ("key", "value"))
    sizes = [pc.fill_null(pc.binary_length(column), -1).to_numpy().astype(np.int64) for column in (key, value)]
    parts = [_varints(time_delta), _varints(offset_delta), _varints(sizes[0]), key, _varints(sizes[1])]
    parts = [part.cast(pa.large_binary()) for part in (*parts, pc.fill_null(value, b""))]
    nothing = pa.scalar(b"", pa.large_binary())
    none = pa.scalar(b"\x00", pa.large_binary())  # attributes, and the number of headers
    fields = pc.binary_join_element_wise(none, *parts, none, nothing)
    size = _varints(pc.binary_length(fields).to_numpy().astype(np.int64)).cast(pa.large_binary())
    return pc.binary_join_element_wise(size, fields, nothing)


def _varints(numbers: NDArray[np.int64]) -> pa.BinaryArray:
    """Return zigzag varints of at most 35 bits."""
    left = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    places = np.arange(_LONGEST_VARINT, dtype=np.uint64) * _SEVEN_BITS
    shifted = left[:, None] >> places
    goes_on = np.zeros(shifted.shape, bool)
    goes_on[:, :-1] = shifted[:, 1:] > 0
    used = np.concatenate([np.ones((len(left), 1), bool), goes_on[:, :-1]], axis=1)
    raw = ((shifted & 0x7F) | (goes_on.astype(np.uint64) << _SEVEN_BITS)).astype(np.uint8)
    ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
    content = pa.py_buffer(raw[used].tobytes())
    return pa.BinaryArray.from_buffers(pa.binary(), len(left), [None, pa.py_buffer(ends), content])
