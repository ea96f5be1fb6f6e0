"""Groups that exist because of offset commits alone, to which a coordinator cannot load records of some other types.

Such a commit makes a group if there is none. Each record of a group of those types gets the offset of the last commit
before it: the other commits make no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import ROLES, SHARE, STREAMS
from kip848_records.queries.texts import rendered
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE
from kip848_records.sources.predicates import IS_OFFSET_COMMIT, IS_READABLE, key_of_types

if TYPE_CHECKING:
    from kip848_records.engines.engine import Engine, Relation

REFUSED_BY_SIMPLE_GROUPS: Final = frozenset(
    key_type for key_type, (kind, _) in ROLES.items() if kind in {SHARE, STREAMS}
)
"""The types of records that a release of Kafka cannot load on top of such a group."""


def with_commit_before(engine: Engine, records: Relation, commits: Relation) -> Relation:
    """Return the records with `COMMIT_BEFORE`: the offset of the last commit with a value in their group before them.

    It is null for groups without records of `REFUSED_BY_SIMPLE_GROUPS`. Commits of aborted transactions count, as for a
    coordinator that loads the log. Both have the schema `specs.log_columns.LOG_COLUMNS`.
    """
    text = rendered(
        "pipeline/sql/commit_before.sql",
        columns=engine.types(records),
        commit_before=COMMIT_BEFORE,
        is_commit=f"{IS_OFFSET_COMMIT} AND {IS_READABLE} AND value IS NOT NULL",
        is_refused=key_of_types(REFUSED_BY_SIMPLE_GROUPS),
    )
    return engine.sql(text, records=records, commits=commits)
