"""Every table that an audit writes, by name."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.record_tables import RECORD_TABLES, record_spec
from kip848_records.specs.tables import AUDIT_RUNS, DERIVED
from kip848_records.tables.log import LOG

DEFAULT: Final = {LOG.name: LOG, AUDIT_RUNS.name: AUDIT_RUNS, **DERIVED}
"""The tables that every audit writes: a `TableSpec` by name, with `columns`, `key`, `comment` and `schema` (Arrow)."""

TABLES: Final = {**DEFAULT, **{name: record_spec(name) for name in RECORD_TABLES}}
"""Every table by name, including those of record types, which are written on request."""
