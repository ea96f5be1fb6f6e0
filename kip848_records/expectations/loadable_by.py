"""The expectation `loadable_records` for a release that is named, in place of the one that wrote the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.errors import InputError
from kip848_records.expectations.files import Expectation
from kip848_records.kinds import CLASSIC, KINDS, Role
from kip848_records.queries.texts import literal, rendered
from kip848_records.replay import refusals

if TYPE_CHECKING:
    from collections.abc import Mapping

LOADABLE: Final = "loadable_records"

_TEMPLATE: Final = "expectations/templates/loadable_by.sql"
_UNREAD: Final = (
    "records of offset commits are not looked at, nor the groups that they make, on which share and streams groups' "
    "records may be refused"
)


def loadable_by(release: str) -> Expectation:
    """Return the expectation that a release can load each partition: a case is a partition, or a group that it loses.

    Raises InputError if the text is no release of Kafka from 3.5 on.
    """
    evaluated = refusals.loader(release)
    if evaluated is None:
        raise InputError(
            f"{release!r} is not a release of Kafka from 3.5 on",
            f"name one such as 4.1.1; tried: {', '.join(refusals.TRIED)}",
        )
    known = sorted(refusals.known_to_all(frozenset({evaluated})))
    # SQL joins these names and numbers: they are none of the user's.
    lost = [
        f"'{kind.group_type}'" for kind in KINDS.values() if kind.name != CLASSIC and not _knows(evaluated, kind.roles)
    ]
    text = rendered(
        _TEMPLATE,
        release=release,
        evaluated=evaluated,
        known=known,
        lost=[*dict.fromkeys(lost)] or ["''"],
        reads_unknown_versions=evaluated in refusals.KNOWN_BUGS["KAFKA-18672"].has,
        refuses_versions_of_type_0=evaluated in refusals.KNOWN_BUGS["commit-type-0"].has,
        steps={name: literal(bug.step) for name, bug in refusals.KNOWN_BUGS.items()},
    )
    return Expectation(
        LOADABLE,
        f"Kafka {release} can load every partition of the log{evaluated_text(release)}",
        text,
        without={"offset_commits": _UNREAD},
        about="partition",
    )


def evaluated_text(release: str) -> str:
    """Return by which release another one is evaluated, to be appended to a sentence; empty for one that was tried."""
    evaluated = refusals.loader(release)
    if evaluated == refusals.LOADERS[0]:
        return "" if evaluated == release else ", evaluated as the default coordinator of 3.9"
    text = ""
    if evaluated != release:
        text = f", evaluated as {evaluated}: {release} was not tried"
    if evaluated not in refusals.TRIED:
        text += (
            f", evaluated by its fixes: {release} was not tried" if evaluated == release else f", nor was {evaluated}"
        )
    return text + (", with the consumer protocol turned on there" if evaluated in refusals.PREVIEWS else "")


def _knows(release: str, roles: Mapping[int, Role]) -> bool:
    """Return whether a release knows the records of group epochs of a kind, if the kind has any."""
    epochs = [key_type for key_type, role in roles.items() if role is Role.GROUP_EPOCH]
    return not epochs or release in refusals.knowing(epochs[0])
