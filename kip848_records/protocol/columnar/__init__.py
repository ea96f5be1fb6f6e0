"""The columnar decoder: a column of encoded messages in, one typed Arrow array and an error code per row out.

Every row has a cursor, an offset into the batch's bytes. Each field of a layout is a node (`node`, `leaves`, `nesting`,
`tags`), which reads at all cursors and moves them on in a few NumPy steps. So a field costs time once per batch, not
once per record. Nested arrays become offsets and flat content; no Python object is made per record.

Bounds: a cursor is compared with the end of its row before the value is used. Nothing is allocated from a length that
has not been compared with the remaining bytes. A row that fails is parked: its cursors move to zeros after the data,
where every field reads as empty, so the other rows are not affected.
"""

from kip848_records.protocol.columnar.decode import Decoded, decode, decode_spans
from kip848_records.protocol.columnar.encoded import Encoded
from kip848_records.protocol.columnar.errors import Error

__all__ = ["Decoded", "Encoded", "Error", "decode", "decode_spans"]
