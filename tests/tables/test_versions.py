"""Which of two versions of this package is the newer one."""

from itertools import pairwise

import pytest

from kip848_records.tables import versions
from kip848_records.tables.errors import TablesError

IN_ORDER = ["0.9.9", "0.10.0.dev3", "0.10.0a1", "0.10.0b1", "0.10.0-rc1", "0.10.0rc2", "0.10.0", "0.10.0.post1"]


@pytest.mark.parametrize(("older", "newer"), [*pairwise([*IN_ORDER, "0.10.1rc1", "0.10.1", "1.0.0rc1"])])
def test_a_newer_version_s_tables_are_refused(monkeypatch, older, newer):
    monkeypatch.setattr(versions, "__version__", newer)
    assert versions.are_outdated("out", [older])
    assert not versions.are_outdated("out", [newer])
    monkeypatch.setattr(versions, "__version__", older)
    with pytest.raises(TablesError, match=f"were written by version {newer}, and this is {older}"):
        versions.are_outdated("out", [older, newer])
