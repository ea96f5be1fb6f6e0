"""Facts about the members of a consumer group that contradict the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from kip848_records.replay.group.vocabulary import ASSIGNOR_VERSIONS, NAMES_AND_REGEX
from kip848_records.replay.modern.anomalies import Anomalies

if TYPE_CHECKING:
    from kip848_records.replay.records import AnyMemberValue, MemberValue, Record

_DRAFTS: Final = ("kip-848", "kip-848-draft")
_LOWEST_VERSION: Final = -1


class ConsumerAnomalies(Anomalies):
    """The anomalies of an operation of a consumer group."""

    def member(self, record: Record, value: AnyMemberValue) -> None:
        """Check a type 5."""
        value = cast("MemberValue", value)
        if self._context.dialect in _DRAFTS and value.topics and value.regex:
            self._add(
                NAMES_AND_REGEX, record, None, "names or a regular expression", f"{value.topics} and {value.regex}"
            )
        if value.server_assignor == "":
            self._add(ASSIGNOR_VERSIONS, record, None, "an assignor with a name", "server assignor ''")
        for assignor in value.assignors:
            name, minimum, maximum, version = assignor
            if not name or minimum < _LOWEST_VERSION or maximum < 0 or not minimum <= version <= maximum:
                expected = "a name and minimum >= -1, maximum >= 0, minimum <= version <= maximum"
                self._add(ASSIGNOR_VERSIONS, record, None, expected, str(tuple(assignor)))
