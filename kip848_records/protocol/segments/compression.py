"""The compression codecs of record batches: no block grows past a limit that the caller sets.

Source: Kafka's `CompressionType` (codes 0-4) and the factories `GzipCompression`, `SnappyCompression`,
`Lz4Compression`, `ZstdCompression`.
"""

import struct
from io import BytesIO
from typing import Final

import pyarrow as pa

from kip848_records.protocol.segments.faults import Fault, UnreadableBatchError

NONE: Final = 0
SNAPPY: Final = 2
# pyarrow's names of the codecs that it can read as a stream, by Kafka's code.
STREAMED: Final = {1: "gzip", 3: "lz4", 4: "zstd"}

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE: Final = 16
# The densest element of the snappy format copies 64 bytes for 3: a block that claims more is invalid.
SNAPPY_MAX_RATIO: Final = 22
# The bit of a varint's byte that announces another byte.
MORE: Final = 0x80
PIECE_SIZE: Final = 64 * 1024


class CompressionError(UnreadableBatchError):
    """A block that does not decompress, or not within the limit; its text has the reason."""

    def __init__(self, reason: str, fault: Fault = Fault.NOT_DECOMPRESSED) -> None:
        super().__init__(fault, reason)


class Decompressor:
    """Decompresses blocks of any codec, each to at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._streams: dict[int, _FrameStream] = {}
        self._snappy = pa.Codec("snappy")

    def decompress(self, codec: int, block: bytes) -> bytes:
        """Return the records of a block; raises `CompressionError`.

        `codec` is Kafka's code: bits 0-2 of a batch's attributes.
        """
        try:
            if codec == NONE or not block:
                return block
            if codec == SNAPPY:
                return self._unsnappy(block)
            if codec in STREAMED:
                return self._read_frame(codec, block)
        except (OSError, pa.ArrowException, struct.error) as error:
            raise CompressionError(f"{STREAMED.get(codec, 'snappy')} block does not decompress: {error}") from error
        raise CompressionError(f"unknown compression codec {codec}")

    def _read_frame(self, codec: int, frame: bytes) -> bytes:
        stream = self._streams.pop(codec, None)
        try:
            records = stream.read(frame, self.limit) if stream else b""
        except (OSError, pa.ArrowException):
            records = b""
        if not records:
            # There is no stream yet, or it does not continue after its last frame: only a new stream shows whether the
            # frame is bad.
            stream = _FrameStream(STREAMED[codec])
            records = stream.read(frame, self.limit)
        if len(records) > self.limit:
            raise _too_big(self.limit)
        if stream is not None:
            self._streams[codec] = stream
        return records

    def _unsnappy(self, block: bytes) -> bytes:
        if not block.startswith(XERIAL_MAGIC):
            return self._unsnappy_chunk(block, self.limit)
        whole = BytesIO()
        at = XERIAL_HEADER_SIZE
        while at < len(block):
            (length,) = struct.unpack_from(">i", block, at)
            at += 4
            if not 0 < length <= len(block) - at:
                raise CompressionError(
                    f"snappy block does not decompress: chunk of {length} bytes at byte {at} of {len(block)}"
                )
            whole.write(self._unsnappy_chunk(block[at : at + length], self.limit - whole.tell()))
            at += length
        return whole.getvalue()

    def _unsnappy_chunk(self, chunk: bytes, limit: int) -> bytes:
        size = 0
        for index, byte in enumerate(chunk[:5]):
            size |= (byte & 0x7F) << 7 * index
            if byte < MORE:
                break
        if size > len(chunk) * SNAPPY_MAX_RATIO:
            raise CompressionError(f"snappy block does not decompress: {len(chunk)} bytes claim to hold {size}")
        if size > limit:
            raise _too_big(self.limit)
        return bytes(self._snappy.decompress(chunk, size, asbytes=True))


class _FrameStream:
    """One pyarrow stream that is fed one frame after the other.

    A new zstd context costs some 20 µs, many times the work for a batch of a few records. Arrow's stream resets its
    context if it finds data after the end of a frame, and `_FrameSource` reports the end of the data after each frame.
    So every read returns one frame.
    """

    def __init__(self, codec: str) -> None:
        self._source = _FrameSource()
        self._stream = pa.CompressedInputStream(pa.PythonFile(self._source, "r"), codec)
        # `read` would leak its memory when the stream fails.
        self._piece = memoryview(bytearray(PIECE_SIZE))

    def read(self, frame: bytes, limit: int) -> bytes:
        """Return the content of the frame; after more than `limit` bytes, the stream must not be used again."""
        self._source.pending = frame
        count = self._stream.readinto(self._piece)
        if count < PIECE_SIZE:
            return bytes(self._piece[:count])
        # The buffer grows in place: joining a list of parts would need the memory twice.
        whole = BytesIO()
        while count and whole.tell() <= limit:
            whole.write(self._piece[:count])
            count = self._stream.readinto(self._piece)
        return whole.getvalue()


class _FrameSource:
    """A file-like object that ends after each frame, and continues with the next."""

    closed = False

    def __init__(self) -> None:
        self.pending = b""

    def read(self, size: int) -> bytes:
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def close(self) -> None:
        """Do nothing: there is no open file."""


def _too_big(limit: int) -> CompressionError:
    return CompressionError(f"refused: decompresses to more than {limit} bytes", Fault.TOO_LARGE)
