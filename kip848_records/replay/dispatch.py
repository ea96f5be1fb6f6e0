"""The code of each kind of group, imported with the first record of the kind.

A log of consumer groups needs nothing of the other kinds: their code is not even loaded. Therefore a kind is found by
its name. The folder of a kind other than `classic` has three names:

- `group.GROUP`: the class of its groups, a `ModernGroup`;
- `values.READERS`: by role, the function that reads the values of its records;
- `loading.RULES` and `loading.CHECKS`: what a coordinator refuses to load, and by role the values that it refuses.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from kip848_records.kinds import CLASSIC, Role
from kip848_records.protocol.messages.classic import (
    CONNECT_PROTOCOL_TYPE,
    CONSUMER_PROTOCOL_TYPE,
    SCHEMA_REGISTRY_PROTOCOL_TYPE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.classic.group import ClassicGroup
    from kip848_records.replay.classic.values import PayloadReader
    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.decode.impossible import Checks
    from kip848_records.replay.generations.rules import ProtocolRules
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.loading import LoadingRules
    from kip848_records.replay.modern.group import ModernGroup

    Readers = Mapping[Role, Callable[[Columns], Iterable[Any]]]


_RULES: Final = {
    CONSUMER_PROTOCOL_TYPE: ("classic", "rules"),
    CONNECT_PROTOCOL_TYPE: ("connect", "rules"),
    SCHEMA_REGISTRY_PROTOCOL_TYPE: ("classic", "schema_registry"),
}
"""The folder and module with `RULES` of a protocol type."""


@cache
def modern_group(kind: str) -> type[ModernGroup]:
    """Return the class of the groups of a kind other than `classic`."""
    return cast("type[ModernGroup]", _module(kind, "group").GROUP)


def classic_group(context: Context) -> ClassicGroup:
    """Return a classic group that has no record yet; its rules depend on the protocol type of its members."""
    from kip848_records.replay.classic.group import ClassicGroup  # noqa: PLC0415 - see above

    return ClassicGroup(context, _protocol_rules)


@cache
def value_readers(kind: str) -> Readers:
    """Return the function by role that reads the values of a kind of group."""
    if kind != CLASSIC:
        return cast("Readers", _module(kind, "values").READERS)
    from kip848_records.replay.classic.values import classic_groups  # noqa: PLC0415 - see above

    return {Role.CLASSIC_GROUP: lambda columns: classic_groups(columns, _worker_payloads)}


@cache
def loading_rules(kind: str) -> LoadingRules:
    """Return what a coordinator refuses to load in a kind of group other than `classic`."""
    return cast("LoadingRules", _module(kind, "loading").RULES)


@cache
def value_checks(kind: str) -> Mapping[Role, Checks]:
    """Return the checks of the values of a kind of group, by role."""
    return {} if kind == CLASSIC else cast("Mapping[Role, Checks]", _module(kind, "loading").CHECKS)


def _protocol_rules(protocol_type: str, context: Context) -> ProtocolRules:
    """Return the rules of generations of one protocol type."""
    folder, module = _RULES.get(protocol_type, ("generations", "rules"))
    return cast("ProtocolRules", _module(folder, module).RULES(context))


def _worker_payloads() -> tuple[PayloadReader, PayloadReader]:
    """Return what reads the subscription and the assignment of a Connect worker."""
    from kip848_records.replay.connect.workers import read_assignment, read_subscription  # noqa: PLC0415 - see above

    return read_subscription, read_assignment


def _module(kind: str, name: str) -> Any:  # noqa: ANN401 - a module
    return import_module(f"kip848_records.replay.{kind}.{name}")
