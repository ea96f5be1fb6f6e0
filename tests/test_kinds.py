"""The table of kinds of groups: complete, and the only one."""

import re
from pathlib import Path

import pytest

from kip848_records import kinds
from kip848_records.kinds import KINDS, ROLES
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS

PACKAGE = Path(kinds.__file__).parent
# Two kinds beside each other, as text: a list that a new kind would have to be added to.
# Simple groups are none here: no record type is theirs.
_KIND = f"""['"](?:{"|".join(name for name in KINDS if name != "simple")})['"]"""
LISTED = re.compile(rf"""{_KIND}\s*[,:][^'"]*{_KIND}""")


def test_each_record_of_a_group_belongs_to_one_kind():
    assert sorted(ROLES) == sorted(set(RECORDS) - set(OFFSET_COMMIT_TYPES))
    assert sum(len(kind.roles) for kind in KINDS.values()) == len(ROLES)


def test_record_types_have_the_names_of_their_records():
    def named(key_type):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", RECORDS[key_type].name).upper()

    names = {KeyType.LEGACY_OFFSET_COMMIT: "LEGACY_OFFSET_COMMIT"}
    assert {names.get(key_type, named(key_type)): key_type for key_type in RECORDS} == {
        name: number for name, number in vars(KeyType).items() if name.isupper()
    }


def test_the_type_of_a_group_is_a_kind():
    assert all(KINDS[kind.group_type].group_type == kind.group_type for kind in KINDS.values())


@pytest.mark.parametrize("ending", ["*.py", "*.sql", "*.js", "*.html"])
def test_no_other_list_of_kinds(ending):
    assert [
        f"{path.relative_to(PACKAGE)}: {found[0]}"
        for path in PACKAGE.rglob(ending)
        for found in LISTED.finditer(path.read_text(encoding="utf-8"))
    ] == []
