"""Every layout of every dialect, with a name for people: of values, of keys and of the embedded consumer protocol."""

from kip848_records.protocol.messages import DIALECTS
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

_MESSAGES = [
    *(
        (f"{dialect.name}-{record.name}-{record.key_type}-{place}", message)
        for dialect in DIALECTS.values()
        for record in dialect.records
        for place, message in enumerate(record.values)
    ),
    ("subscription", CONSUMER_PROTOCOL_SUBSCRIPTION),
    ("assignment", CONSUMER_PROTOCOL_ASSIGNMENT),
]

# Back to front: a layout that several dialects share has the name of the first.
MESSAGE_LAYOUTS = {
    layout: f"{name}-v{version}" for name, message in _MESSAGES[::-1] for version, layout in message.layouts.items()
}
KEY_LAYOUTS = {
    record.key_layout: f"{dialect.name}-{record.name}-{record.key_type}-key"
    for dialect in reversed(DIALECTS.values())
    for record in reversed(dialect.records)
}
LAYOUTS = MESSAGE_LAYOUTS | KEY_LAYOUTS
