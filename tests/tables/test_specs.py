"""The TOML files that describe tables: what is not read would be wrong unseen."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import kip848_records.specs
from kip848_records.kinds import KINDS
from kip848_records.specs import loading, tables
from kip848_records.specs.columns import PRIMITIVES, TableSpec

FILES = {file.stem: tomllib.loads(file.read_text()) for file in Path(*kip848_records.specs.__path__).glob("*.toml")}


@pytest.mark.parametrize("kind", ["tables", "shared", "types"])
def test_a_name_is_defined_once(kind):
    assert FILES.keys() > {"shared", "rebalance"}
    names = Counter(name for sections in FILES.values() for name in sections.get(kind, ()))
    assert names
    assert max(names.values()) == 1, names.most_common(1)
    assert all(sections.keys() <= {"tables", "shared", "types"} for sections in FILES.values())


def test_each_table_has_a_name_that_mypy_knows():
    described = {name for sections in FILES.values() for name in sections.get("tables", ())}
    assert described == {name.lower() for name, each in vars(tables).items() if isinstance(each, TableSpec)}


def test_all_that_is_shared_is_used():
    lists = [each for sections in FILES.values() for each in sections.get("shared", {}).values()]
    lists += [each["columns"] for sections in FILES.values() for each in sections.get("tables", {}).values()]
    entries = [entry for each in lists for entry in each]
    types = [entry[1] for entry in entries if isinstance(entry, list)]
    types += [each for sections in FILES.values() for of in sections.get("types", {}).values() for each in of.values()]
    code = "".join(file.read_text() for file in Path(*kip848_records.__path__).rglob("*.py"))
    used = {
        "shared": {entry for entry in entries if isinstance(entry, str)} | called("shared_columns", code),
        "types": {word for each in types for word in re.findall(r"\w+", each)} | called("struct_type", code),
    }
    for kind, names in used.items():
        assert {name for sections in FILES.values() for name in sections.get(kind, ())} <= names


def called(function, code):
    return set(re.findall(rf'{function}\("(\w+)"\)', code))


def test_columns_of_a_table_are_there_once_and_its_key_is_of_them():
    for spec in {**tables.DERIVED, "runs": tables.AUDIT_RUNS}.values():
        names = [column.name for column in spec.columns]
        assert len(set(names)) == len(names)
        assert set(spec.key) <= set(names), spec.name


def test_types_of_sql():
    assert (
        loading.struct_type("unapplied").field("kept").type.value_type.field("partitions").type.value_type
        == (PRIMITIVES["int"])
    )
    assert str(tables.AUDIT_RUNS.type_of("counted_until")) == "map<int32, int64>"


def test_the_types_of_groups_are_those_that_have_records():
    named = [kind.name for kind in KINDS.values() if kind.name == kind.group_type and kind.roles]
    (column,) = loading.shared_columns("group_type")
    assert column.comment == f"{', '.join(named[:-1])} or {named[-1]}"
