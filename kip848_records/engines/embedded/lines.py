"""The lines of text files, compressed or not, as Hadoop reads them."""

from __future__ import annotations

import bz2
import gzip
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
import pyarrow as pa

from kip848_records.engines.embedded.errors import USE_SPARK, EngineError
from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from kip848_records.engines.embedded.folders import FolderValues

_VALUE: Final = pa.schema([("value", pa.binary())])
_ZSTANDARD: Final = (".zst", ".zstd")
_CHUNK: Final = 4 << 20
_FEED, _RETURN = 10, 13
_MARK: Final = b"\xef\xbb\xbf"
_NOT_READ: Final = (".lz4", ".snappy")
_LONGEST: Final = (1 << 31) - 1 - 2 * _CHUNK
"""Arrow's binary arrays count in int32."""


def lines_schema(files: FolderValues) -> pa.Schema:
    """Return the columns of lines: ``value`` (binary), and those that the names of folders give."""
    values = [item for values in files.values() for item in values.items()]
    numbers = {name for name, value in values if isinstance(value, int)}
    named = {name: pa.int64() if name in numbers else pa.string() for name, _ in values}
    return pa.schema([*_VALUE, *map(pa.field, named, named.values())])


def lines_of(files: FolderValues) -> Iterator[pa.RecordBatch]:
    r"""Yield the lines of files (`lines_schema`), without the `\n`, `\r\n` or `\r` at their ends.

    A mark of UTF-8 at the start of a file is no part of its first line (Hadoop's `LineRecordReader`). Raises InputError
    for a file that cannot be decompressed.
    """
    schema = lines_schema(files)
    for file, values in files.items():
        try:
            for batch in _lines_of(file):
                named = (
                    pa.repeat(pa.scalar(values.get(each.name), each.type), len(batch)) for each in list(schema)[1:]
                )
                yield pa.RecordBatch.from_arrays([batch["value"], *named], schema=schema)
        except PermissionError as error:
            raise InputError.not_opened(str(file), error.strerror) from None
        except (EOFError, OSError, zlib.error, pa.ArrowException):
            raise InputError.unreadable(str(file)) from None


def _lines_of(file: Path) -> Iterator[pa.RecordBatch]:
    with closing(_opened(file)) as opened:
        rest, size, half_end = list[bytes](), 0, b""  # of a line that has not ended
        for chunk in _chunks(opened):
            # A last `\r` may be the first half of an end.
            data = half_end + chunk
            half_end = data[-1:] if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r")
            whole = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
            if whole:
                yield _split(np.frombuffer(b"".join([*rest, data[:whole]]), np.uint8))
                rest, size = [], 0
            rest.append(data[whole:])
            size += len(rest[-1])
            if size > _LONGEST:
                raise EngineError(
                    f"{file} has a line of about 2 GiB", "write one JSON object a line: jq -c '.[]' does so"
                )
        last = b"".join([*rest, half_end])
        if last:
            yield _split(np.frombuffer(last, np.uint8), is_ended=bool(half_end))


def _chunks(opened: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file without a mark of UTF-8 at its start."""
    first = b""
    while len(first) < len(_MARK) and (chunk := opened.read(_CHUNK)):
        first += chunk
    yield first.removeprefix(_MARK)
    while chunk := opened.read(_CHUNK):
        yield chunk


def _split(data: NDArray[np.uint8], *, is_ended: bool = True) -> pa.RecordBatch:
    """Return the lines in some bytes; not `is_ended`: the last line lacks its end."""
    is_end = (data == _FEED) | (data == _RETURN)
    ends = np.flatnonzero(is_end)
    # An end of two bytes counts once.
    is_last_byte = np.ones(len(ends), np.bool_)
    is_last_byte[:-1] = (data[ends[:-1]] != _RETURN) | (data[ends[1:]] != _FEED) | (np.diff(ends) > 1)
    lengths = ends - np.arange(len(ends))
    content = data[~is_end] if len(ends) else data
    offsets = np.concatenate([[0], lengths[is_last_byte], [len(content)] if not is_ended else []]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(content))]
    return pa.RecordBatch.from_arrays(
        [pa.BinaryArray.from_buffers(pa.binary(), len(offsets) - 1, buffers)], schema=_VALUE
    )


def _opened(file: Path) -> BinaryIO:
    """Open a file by the ending of its name, as Hadoop does."""
    ending = file.suffix
    if ending in _NOT_READ:
        raise EngineError(
            f"the embedded engine cannot decompress {ending} files such as {file}", f"decompress it, or {USE_SPARK}"
        )
    if ending in _ZSTANDARD:
        return pa.CompressedInputStream(pa.OSFile(str(file)), "zstd")  # type: ignore[no-any-return]
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".deflate": _Inflated}.get(ending, open)
    return opener(file, "rb")  # type: ignore[operator,no-any-return]


class _Inflated:
    """A stream of zlib, as Hadoop's `DefaultCodec` writes it."""

    def __init__(self, file: Path, mode: str) -> None:
        self._file: BinaryIO = file.open(mode)  # type: ignore[assignment]
        self._inflater = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        while not self._inflater.eof:
            data = self._inflater.unconsumed_tail or self._file.read(size)
            if found := self._inflater.decompress(data, size):
                return found
            if not data:
                raise EOFError
        return b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()
