"""The JSON that Kafka's tool prints, one value at a time, in the form that `json.loads` gives."""

from base64 import b64encode
from typing import Any

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.protocol.schema import BYTES, Array, Field, Layout, Message, Struct, Type
from tests.protocol.plain_decoder import BadMessageError, PlainDecoder


def plain_json(layout: Layout, value: dict[str, Any]) -> dict[str, Any]:
    """The form of a whole decoded message, a key or a record's value."""
    return struct_json(layout, layout.struct, value, embedded=value.get("protocol_type") == CONSUMER_PROTOCOL_TYPE)


def struct_json(layout: Layout, kind: Struct, value: dict[str, Any], *, embedded: bool) -> dict[str, Any]:
    """Tagged fields that are null are left out, unless they are structs."""
    fields = layout.positional(kind)
    fields += [f for f in layout.tagged(kind).values() if value[f.column] is not None or isinstance(f.type, Struct)]
    return {field.name: field_json(layout, field, value[field.column], embedded=embedded) for field in fields}


def field_json(layout: Layout, field: Field, value: Any, *, embedded: bool) -> Any:
    if embedded and field.embeds:
        return embedded_json(field.embeds, value)
    return value_json(layout, field.type, value, embedded=embedded)


def value_json(layout: Layout, kind: Type, value: Any, *, embedded: bool) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [value_json(layout, kind.element, element, embedded=embedded) for element in value]
    if isinstance(kind, Struct):
        return struct_json(layout, kind, value, embedded=embedded)
    return b64encode(value).decode() if kind is BYTES else value


def embedded_json(message: Message, value: bytes) -> Any:
    """A version below 0 is read as 0, and bytes behind the message are not looked at.

    Bytes that end before a field have the fields in front of it, and its name.
    """
    layout = message.at(max(int.from_bytes(value[:2], "big", signed=True), 0))
    if len(value) < 2 or layout is None:
        return b64encode(value).decode()
    decoder = PlainDecoder(layout, value[2:])
    found: dict[str, Any] = {}
    for field in layout.positional(layout.struct):
        try:
            if found and decoder.pos == len(decoder.data):
                return found | {"endsBefore": field.name}
            decoded = decoder.value(field.type, nullable=layout.nullable(field))
        except BadMessageError:
            return b64encode(value).decode()
        found[field.name] = field_json(layout, field, decoded, embedded=False)
    return found
