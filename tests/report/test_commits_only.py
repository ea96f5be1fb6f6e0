"""A group that only commits offsets is known, if the audit read offset commits."""

from datetime import UTC, datetime

import pytest

from kip848_records import cli
from tests import made_tables

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def explain(tmp_path, capsys):
    """Write tables of an audit, and explain a group of them: exit code, stdout, stderr."""

    def run(group, *, commits, **base):
        state = {"group_id": "other", "group_type": "consumer", "state": "Stable", "from_at": AT}
        rows = [{"group_id": "simple", "key_type": 1, "timestamp": AT, "offset": n} for n in range(3)]
        made_tables.write(
            tmp_path,
            "c",
            audit_runs=[{"run": 1, "captured_at": AT, "offset_commits": commits}],
            group_state_timeline=[state],
            partition_history=[{"partition": 0, "copy": "a", "is_base": True, **base}],
            latest_state=rows if commits else [],
        )
        code = cli.main(["explain", str(tmp_path), group])
        return code, *capsys.readouterr()

    return run


def test_with_offset_commits_it_is_empty(explain):
    said = "Group simple of cluster c: Empty, with commits only: 3 partitions, last commit at 2026-01-01 12:00:00 UTC"
    assert explain("simple", commits=True) == (0, f"{said}\n", "")


def test_without_the_way_to_see_it_is_named(explain):
    code, _, err = explain("simple", commits=False)
    assert code == 2
    assert "has no membership records of group 'simple'" in err
    assert "pass --offset-commits to the audit" in err


def test_with_offset_commits_another_group_is_not_there(explain):
    code, _, err = explain("nobody", commits=True)
    assert code == 2
    assert "there is no group 'nobody' in" in err


@pytest.mark.parametrize("base", [{"log_start_missing": True}, {"first_lost_offset": 4, "last_lost_offset": 5}])
def test_where_records_are_lost_its_membership_is_unknown(explain, base):
    said = "commits only; its membership is not in this copy of the log: 3 partitions"
    code, out, _ = explain("simple", commits=True, **base)
    assert code == 0
    assert out.startswith(f"Group simple of cluster c: {said}, last commit at")
