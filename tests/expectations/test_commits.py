"""What offset commits show: the expectations over `consumption_now` and `commit_jump`."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.expectations.patterns import PATTERNS
from kip848_records.queries.duck import DuckTables
from kip848_records.wording import LOSSES, OTHER_LOSS
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

RULES = {each.name: each for each in EXPECTATIONS}
START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(hours=1)
OWNED = {
    "group_id": "g",
    "topic": "t",
    "partition": 3,
    "owner": "member",
    "member_id": "m",
    "history": "observed",
    "acquired_at": START,
    "acquired_offset": 4,
    "released_offset": None,
    "commits": 9,
    "advances": 9,
    "last_offset": 260,
    "last_advance_at": START,
    "rebalance_timeout_ms": 300_000,
}
AHEAD = {"behind_since": START, "ahead_by": 556, "ahead_group": "h"}
KEYS = [{"group_id": "g", "topic": "t", "partition": 3, "offset": 300}]
OPENED = {"producer_id": 7, "status": "open", "first_at": START, "keys": KEYS}
LOST = {
    "group_id": "g",
    "topic": "t",
    "partition": 3,
    "kind": "lost",
    "cause": "deleted",
    "offset": 8,
    "before_offset": 260,
    "jumped_at": END - timedelta(minutes=1),
}


@pytest.fixture
def found(tmp_path):
    def found(rule, limits=None, **tables):
        run = {"run": 1, "captured_at": END, "offset_commits": True}
        tables = {"commit_progress": [], "commit_jump": [], "open_transaction": [], "end_offset": []} | tables
        write(tmp_path, "c", audit_runs=[run], **{"group_state": [{"group_id": "g"}]} | tables)
        defaults = {name: limit.default for name, limit in RULES[rule].limits.items()}
        rows = evaluated(DuckTables(str(tmp_path)), RULES[rule], Setting("error", defaults | (limits or {})))
        return [(row.verdict, row.message) for row in rows]

    return found


def ago(**time):
    return END - timedelta(**time)


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, UNKNOWN),  # nothing shows whether messages wait
        (AHEAD, VIOLATION),
        (AHEAD | {"behind_since": ago(minutes=4)}, UNKNOWN),  # some may have waited for longer
        (AHEAD | {"longest_step_ms": 20 * 60_000 + 1}, PASS),  # it has stood still for so long before
        (AHEAD | {"member_rhythm_ms": 20 * 60_000 + 1}, PASS),
        (AHEAD | {"first_commit_at": START + timedelta(minutes=20, milliseconds=1)}, PASS),
        (AHEAD | {"last_advance_at": ago(minutes=4)}, PASS),
        (AHEAD | {"rebalance_timeout_ms": 2 * 3_600_000}, PASS),
        (AHEAD | {"history": "left_censored", "advances": 0}, UNKNOWN),
        (AHEAD | {"last_advance_at": END + timedelta(seconds=1)}, UNKNOWN),  # a clock is wrong
        ({"commits": 0, "last_offset": None, "advances": 0}, UNKNOWN),  # it may keep its offsets elsewhere
    ],
)
def test_a_partition_of_which_another_group_has_read_more(found, columns, verdict):
    ((said, message),) = found("owned_not_consumed", commit_progress=[OWNED | columns])
    assert said == verdict
    if verdict == VIOLATION:
        assert message == (
            "expected progress in t 3, suspected: its committed offset 260 has not moved for 1 h, "
            "and h has read 556 offsets more"
        )


@pytest.mark.parametrize(
    ("earlier", "verdict"), [({}, UNKNOWN), ({"earlier_offset": 261, "earlier_at": ago(minutes=5)}, VIOLATION)]
)
def test_a_partition_whose_topic_ended_further_on(found, earlier, verdict):
    end = {"topic": "t", "partition": 3, "end_offset": 300, "asked_at": ago(seconds=1)} | earlier
    ((said, message),) = found("owned_not_consumed", commit_progress=[OWNED], end_offset=[end])
    assert said == verdict
    if verdict == VIOLATION:
        assert message.endswith("its committed offset 260 has not moved for 1 h, and 40 offsets wait")


@pytest.mark.parametrize(
    ("set_by_audit", "min_silence", "verdict"),
    [
        (None, 3601.0, PASS),
        (None, 0.0, PASS),  # the owner's rebalance timeout
        (None, 20.0, VIOLATION),
        (20_000, 0.0, VIOLATION),
        (20_000, 3601.0, PASS),
    ],
)
def test_an_operator_may_wait_for_longer_or_less(found, set_by_audit, min_silence, verdict):
    row = OWNED | AHEAD | {"rebalance_timeout_ms": 2 * 3_600_000, "min_silence_ms": set_by_audit}
    said = found("owned_not_consumed", {"min_silence": min_silence}, commit_progress=[row])
    assert [each for each, _ in said] == [verdict]


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({"last_advance_at": ago(seconds=2)}, VIOLATION),
        ({"last_advance_at": ago(seconds=2), "topic": "other"}, PASS),
        ({}, PASS),
    ],
)
def test_a_member_of_which_all_partitions_stopped(found, other, verdict):
    """It needs another member that goes on with the same topic: else the topic may be idle."""
    rows = [OWNED | {"partition": each} for each in range(2)]
    rows.append(OWNED | {"partition": 2, "member_id": "n"} | other)
    assert [said for said, _ in found("owned_not_consumed", commit_progress=rows)].count(VIOLATION) == (
        2 if verdict == VIOLATION else 0
    )


@pytest.mark.parametrize(("apart_s", "count"), [(29, 2), (31, 0)])
def test_partitions_that_ran_dry_one_after_the_other(found, apart_s, count):
    """A step of 10 s is usual. That they once took four minutes says nothing of the time at which a member stops."""
    rows = [OWNED | {"partition": each, "usual_ms": 10_000, "longest_step_ms": 240_000} for each in range(3)]
    rows[1] |= {"last_advance_at": START + timedelta(seconds=apart_s)}
    rows[2] |= {"member_id": "n", "last_advance_at": ago(seconds=2)}
    verdicts = [said for said, _ in found("owned_not_consumed", commit_progress=rows)]
    assert verdicts.count(VIOLATION) == count


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, VIOLATION),
        ({"partition": 4}, PASS),
        ({"last_advance_at": ago(minutes=4)}, PASS),
        ({"member_rhythm_ms": 20 * 60_000 + 1}, VIOLATION),  # the transaction shows it, not the rhythm
        ({"min_silence_ms": 3_600_001}, PASS),
        ({"history": "left_censored", "advances": 0}, UNKNOWN),
    ],
)
def test_an_owner_that_waits_for_a_transaction(found, columns, verdict):
    ((said, message),) = found("blocked_by_transaction", commit_progress=[OWNED | columns], open_transaction=[OPENED])
    assert said == verdict
    if verdict == VIOLATION:
        assert message == (
            "expected a stable committed offset of t 3, a transaction of producer 7 has been open for 1 h, "
            "and the offset has not moved for 1 h"
        )


@pytest.mark.parametrize(
    ("columns", "verdicts"),
    [
        ({}, [VIOLATION]),
        ({"jumped_at": ago(days=1, seconds=1)}, [PASS]),
        ({"jumped_at": None}, [UNKNOWN]),
        ({"cause": "group_expired"}, []),
        ({"group_id": "gone"}, []),
        ({"kind": "back", "cause": None}, []),
    ],
)
def test_offsets_that_were_lost(found, columns, verdicts):
    said = found("offsets_lost", commit_jump=[LOST | columns])
    assert [verdict for verdict, _ in said] == verdicts
    if verdicts == [VIOLATION]:
        assert (
            said[0][1] == "expected the committed offset of t 3 to stay, 260 was removed: presumably a tool removed it"
        )


@pytest.mark.parametrize("cause", [*LOSSES, "of a later version"])
def test_why_an_offset_was_lost_is_presumed_in_the_words_of_explain(found, cause):
    said = found("offsets_lost", commit_jump=[LOST | {"cause": cause}])
    if cause in {"group_expired", "group_deleted"}:
        assert not said
    else:
        assert said[0][1].endswith(f"260 was removed: presumably {LOSSES.get(cause, OTHER_LOSS)}")


def test_an_offset_that_its_client_let_expire(found):
    ((_, message),) = found("offsets_lost", commit_jump=[LOST | {"cause": "expired", "retention_ms": 3_600_000}])
    assert message.endswith("260 was removed: its client had asked the broker to keep it for 1 h")


def test_offsets_that_were_lost_at_once_are_told_once(found):
    rows = [LOST | {"partition": each, "offset": each} for each in range(3)]
    rows.append(LOST | {"partition": 9, "jumped_at": ago(minutes=2)})
    assert [message for _, message in found("offsets_lost", commit_jump=rows)] == [
        "expected the committed offsets of 3 partitions of t to stay, each was removed: presumably a tool removed it",
        "expected the committed offset of t 9 to stay, 260 was removed: presumably a tool removed it",
    ]


def test_a_loss_that_was_judged_by_an_assumed_retention_says_so(found):
    ((_, message),) = found("offsets_lost", commit_jump=[LOST | {"assumed_retention_ms": 7 * 86_400_000}])
    assert message.endswith("260 was removed: presumably a tool removed it (assumed: brokers keep offsets for 7 d)")


TROUBLE = {
    "group_id": "g",
    "partition": 0,
    "severity": "warning",
    "sentence": "It happened.",
    "next_step": "Look.",
    "first_seen": ago(minutes=9),
    "last_seen": ago(minutes=5),
    "is_present": True,
}


@pytest.mark.parametrize("pattern", [each.name for each in PATTERNS if each.needs])
@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, VIOLATION),
        ({"is_present": False, "ended_at": ago(hours=1)}, VIOLATION),
        ({"is_present": False, "ended_at": ago(days=1, seconds=1)}, PASS),
        ({"severity": "info"}, PASS),
        ({"pattern": "other"}, PASS),
    ],
)
def test_a_pattern_that_only_commits_show(found, pattern, columns, verdict):
    ((said, message),) = found(pattern, commit_progress=[OWNED], diagnosis=[TROUBLE | {"pattern": pattern} | columns])
    assert said == verdict
    if not columns:
        assert message == "It happened. Look."


def test_commits_of_which_some_are_missing_may_have_shown_a_pattern(found):
    ((said, _),) = found("negative_offsets", commit_progress=[OWNED, OWNED | {"partition": 4, "history": "censored"}])
    assert said == UNKNOWN


BACK = LOST | {"kind": "back", "cause": None, "context": "no_members", "after_offset": 60, "amount": 200}
LATE = {"owner": "member", "member_id": "old", "late_commits": 1, "acquired_offset": 1}


@pytest.mark.parametrize(
    ("columns", "verdicts"),
    [
        ({}, [VIOLATION]),
        ({"context": "same_owner"}, [VIOLATION]),
        ({"jumped_at": ago(days=1, seconds=1)}, [PASS]),
        ({"jumped_at": None}, [UNKNOWN]),
        ({"context": "previous_owner"}, [PASS]),  # nobody reads again
        ({"context": "owner_change", "previous_member_id": "old"}, [PASS]),
        ({"context": "owner_change", "previous_member_id": "other"}, [VIOLATION]),
        ({"kind": "lost"}, [PASS]),
        ({"kind": "ahead"}, [PASS]),
    ],
)
def test_offsets_that_went_back(found, columns, verdicts):
    whole = [{"group_id": "g", "has_full_history": True}]
    said = found("moved_back", commit_jump=[BACK | columns], commit_progress=[OWNED | LATE], group_state=whole)
    assert [verdict for verdict, _ in said] == verdicts
    if not columns:
        assert said[0][1] == (
            "expected committed offsets of t not to go back, that of 3 went from 260 to 60, "
            "set while the group had no members"
        )


@pytest.mark.parametrize(
    ("context", "by"),
    [
        ("simple", "set while the group had no members"),
        ("first_owner", "by the owner"),
        ("unowned", "and no member owned the partition"),
        ("unknown", "and the log does not show whether the group had members"),
    ],
)
def test_who_set_an_offset_back(found, context, by):
    ((_, message),) = found("moved_back", commit_jump=[BACK | {"context": context}])
    assert message.endswith(f" went from 260 to 60, {by}")


def test_a_reset_of_several_partitions_is_told_once(found):
    rows = [BACK | {"partition": each, "offset": each, "amount": 200 + each} for each in range(3)]
    ((_, message),) = found("moved_back", commit_jump=rows)
    assert message == (
        "expected committed offsets of t not to go back, those of 3 partitions went back by up to 202 offsets, "
        "set while the group had no members"
    )


@pytest.mark.parametrize(
    ("columns", "verdicts"),
    [
        ({}, [VIOLATION]),
        ({"jumped_at": ago(days=1, seconds=1)}, [PASS]),
        ({"jumped_at": None}, [UNKNOWN]),
        ({"kind": "back"}, []),
    ],
)
def test_offsets_that_were_set_ahead(found, columns, verdicts):
    ahead = BACK | {"kind": "ahead", "after_offset": 460}
    said = found("moved_ahead", commit_jump=[ahead | columns])
    assert [verdict for verdict, _ in said] == verdicts
    if not columns:
        assert said[0][1] == "expected committed offsets of t not to be set ahead, that of 3 was set from 260 to 460"


BEFORE = OWNED | {
    "member_id": "old",
    "acquired_offset": 1,
    "released_offset": 3,
    "released_at": START,
    "quiet_ms": 9_000,
    "member_rhythm_ms": 5_000,
    "recent_advanced": 20_000,
    "recent_ms": 60_000,
}


@pytest.mark.parametrize(
    ("columns", "limits", "verdict"),
    [
        ({}, {}, VIOLATION),  # 20,000 offsets a minute, for 7.5 s: at most 2,500
        ({}, {"max_offsets": 2500.0}, PASS),
        ({}, {"within": 3599.0}, PASS),
        ({"recent_ms": None}, {}, UNKNOWN),
        ({"recent_ms": None}, {"within": 3599.0}, PASS),  # whatever it was, it does not count
    ],
)
def test_a_handover_after_which_messages_are_read_again(found, columns, limits, verdict):
    ((said, message),) = found("repeat_at_handover", limits, commit_progress=[OWNED, BEFORE | columns])
    assert said == verdict
    if verdict == VIOLATION:
        assert message == "expected at most 1000 offsets of t 3 to be read again, up to 2,500 offsets were, from old"


@pytest.mark.parametrize("rule", ["offsets_lost", "moved_back", "moved_ahead"])
@pytest.mark.parametrize(
    ("state", "commits", "verdicts"),
    [
        ({"has_full_history": True}, {}, [PASS]),
        ({"known_since": ago(days=1)}, {}, [PASS]),
        # It may have happened before the log begins, where compaction hides it.
        ({"known_since": ago(hours=23)}, {}, [UNKNOWN]),
        ({}, {}, [UNKNOWN]),
        ({"has_full_history": True}, {"commits": 0, "last_offset": None}, []),
    ],
)
def test_a_group_passes_if_its_commits_were_looked_at(found, rule, state, commits, verdicts):
    said = found(rule, commit_progress=[OWNED | commits], group_state=[{"group_id": "g"} | state])
    assert [verdict for verdict, _ in said] == verdicts
    if verdicts == [UNKNOWN]:
        assert said[0][1] == "none is seen; its commits must be known for 1 d"


@pytest.mark.parametrize(("lost", "verdict"), [({}, PASS), ({"first_lost_offset": 7}, UNKNOWN)])
def test_a_partition_passes_if_no_transaction_is_open_in_it(found, lost, verdict):
    ((said, _),) = found("hanging_transaction", partition_history=[{"is_base": True, **lost}])
    assert said == verdict


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"commits": 0, "last_offset": None, "advances": 0}, ", and the group commits nothing"),
        ({}, ", and the log does not show since when messages wait, if any do (--end-offsets)"),
        ({"history": "left_censored", "advances": 0}, ", as far as the log shows"),
    ],
)
def test_why_it_is_not_known_whether_a_partition_is_consumed(found, columns, reason):
    ((said, message),) = found("owned_not_consumed", commit_progress=[OWNED | columns])
    assert said == UNKNOWN
    assert message.endswith(f"has not moved for 1 h{reason}")
    assert "suspected" not in message


def test_a_partition_that_a_transaction_blocks_is_no_case_of_the_other_expectation(found):
    assert found("owned_not_consumed", commit_progress=[OWNED], open_transaction=[OPENED]) == []
