"""What explain says of offset commits: how far members have come, and the jumps of committed offsets."""

import re

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed, read
from kip848_records.report.consumption import _STATES
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import CONSUMPTION, JUMPS
from tests import made_tables
from tests.commits_of_a_broker import SILENCE, audited
from tests.report.fitted import entries, lines_of
from tests.report.test_widths import too_wide

KEY = {"group_id": "g", "group_type": "consumer", "topic": "t"}
CAPTURED = 1_000_000_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """The tables of an audit for which 20 s without an advance are long."""
    return audited(tmp_path_factory.mktemp("silent"), SILENCE)


def explained(tables, group):
    return "\n".join(part.plain for part in explain(GroupHistory(tables, group, "c")))


@pytest.mark.slow
def test_a_handover_after_a_crash(tables):
    text = "SELECT * FROM handover_progress WHERE group_id = 'g-crash' AND topic = 't-pay' AND partition = 0"
    (row,) = tables.rows(completed(text), "c")
    assert (row.committed_offset, row.first_commit_offset, row.offset_step) == (259, 316, 57)
    assert (row.acquired_offset, row.released_offset, row.committed_age_ms) == (2201, 2158, 10_137)
    assert (row.quiet_ms, row.member_rhythm_ms, row.repeat_at_most) == (9184, 5001, 36)
    assert row.ended_uncommitted


@pytest.mark.slow
def test_a_young_stay_has_no_pace(tables):
    rows = tables.rows(completed("SELECT * FROM handover_progress WHERE group_id = 'g-crash' AND partition > 1"), "c")
    assert [(row.repeat_at_most, row.ended_uncommitted) for row in rows] == [(None, False)] * 2


def test_who_stands_still_longest_comes_first_and_what_is_alike_is_one_row(tables):
    assert entries(explained(tables, "g-pause"), "Committed offsets of what members own, the worst first:") == [
        "t-orders 3 260 1 min 50 s g-manual has read 556 offsets more member: g-pause-0 @ 127.0.0.1",
        "t-orders 0-2 787 to 817 1.4 s goes on member: g-pause-1 @ 127.0.0.1",
        "t-orders 4-5 819 to 827 710 ms goes on member: g-pause-0 @ 127.0.0.1",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("g-pause", "t-orders 3 260 1 min 50 s progress: suspected: g-manual has read 556 offsets more"),
        ("g-hang", ": blocked: the transaction of producer 2 is open"),
        ("g-skew", ": stopped, or no messages: the end offset shows it (--end-offsets)"),
        ("g-burst", ": no messages, or not consumed: the end offset shows it (--end-offsets)"),
        (
            "g-dead",
            "t-orders 0-2 334 to 341 1 min 34 s progress: suspected: g-manual has read up to 495",
        ),
        ("g-none", "the group commits nothing"),
    ],
)
def test_what_the_commits_show_of_a_partition(silent, group, said):
    """The messages of g-skew's partition stopped: nothing shows whether some wait."""
    assert said in " ".join(explained(silent, group).split())


def test_what_a_new_owner_read_again(tables):
    """It was killed: two partitions went to the other member at once."""
    said = explained(tables, "g-crash").partition("\nHandovers after which the new owner read again")[2]
    assert (
        "2026-11-27 11:50:18 UTC t-pay 0-1 ≤ 71 10.1 s owner before: ended without a commit; from: "
        "g-crash-0 @ 127.0.0.1; to: g-crash-1 @ 127.0.0.1"
    ) in " ".join(said.split())


SAID = {
    "g-reset": (
        "2026-11-27 11:50:07 UTC t-pay 2 what: back from 198 to 150, while the group had no members: exactly 48 "
        "offsets are read again"
    ),
    "g-delete": (
        "t-pay 0-1 what: 195…201 were lost, then came 489…490: it skipped at most 583 offsets in all (reset to "
        "latest), or reads at most 396 again (earliest)"
    ),
    "g-delgroup": " were lost, 28.7 s old: presumably the group was removed with it",
    "g-again": "218…236 were of a topic that was created anew, 1…6 are of the new one: nothing follows from it",
    "g-grow": "t-grow 2-3 what: the first commit is 10: it skipped at most 20 offsets in all",
}


@pytest.mark.parametrize(("group", "said"), SAID.items())
def test_jumps_claim_what_they_prove(tables, group, said):
    lines = explained(tables, group).partition("\nJumps of committed offsets, the latest first:")[2]
    assert said in " ".join(lines.split())


@pytest.mark.nightly
def test_every_group_keeps_its_width(tables):
    texts = {
        row.group_id: explained(tables, row.group_id) for row in tables.rows("SELECT group_id FROM group_state", "c")
    }
    assert {group: lines for group, text in texts.items() if (lines := too_wide(text))} == {}


@pytest.mark.slow
def test_without_commits_nothing_is_said_of_them(tables, tmp_path):
    bare = audited(tmp_path, offset_commits=False)
    for group in ("g-pause", "g-reset"):
        said, kept = explained(bare, group), explained(tables, group)
        assert "ommitted offsets" not in said
        # What the log shows without them: whether the members consume is not part of it.
        said = re.sub(r"\sWhether they consume was\snot\slooked\sat\s\(--offset-commits\)\.", "", said)
        begin, end = kept.index("\nCommitted offsets of"), kept.index("\nRebalances, ")
        kept = kept[:begin] + kept[end:]
        assert said == re.sub(r"\n\nFor information: (?:.+\n)*?.+ again\.", "", kept)


@pytest.fixture
def made(tmp_path):
    def made(progress=(), jumps=(), partitions=(0,)):
        state = {"group_id": "g", "group_type": "consumer", "state": "Stable", "members": 1, "since": 0}
        states = [state | {"partition": each} for each in partitions]
        made_tables.write(
            tmp_path,
            "c",
            **dict.fromkeys(made_tables.OF_KINDS, ()),
            audit_runs=[{"run": 1, "captured_at": CAPTURED, "offset_commits": True}],
            group_state=states,
            group_state_timeline=states,
            commit_progress=[KEY | {"owner": "member", "history": "right_censored"} | row for row in progress],
            commit_jump=[KEY | {"offset": nth} | row for nth, row in enumerate(jumps)],
        )
        return GroupHistory(DuckTables(str(tmp_path)), "g", "c")

    return made


def flat(lines):
    return " ".join(" ".join(lines).split())


def stay(partition, **row):
    return {"partition": partition, "member_id": "m", "acquired_at": CAPTURED - 60_000_000, "acquired_offset": 5} | row


def committed(group):
    return entries("\n".join(lines_of(group, CONSUMPTION, group.incarnations[-1])), CONSUMPTION.title[1:])


def test_lists_are_cut_behind_those_that_stand_still_longest(made):
    rows = [
        stay(each, topic=f"t{each}", member_id=f"m{each}", last_offset=7, last_advance_at=1_000_000 * each)
        for each in range(1, 40)
    ]
    rows += [stay(number, member_id=f"n{number}", last_offset=7, last_advance_at=CAPTURED) for number in (10, 11, 12)]
    group = made(rows)
    lines = lines_of(group, CONSUMPTION, group.incarnations[-1])
    assert lines[1] == "Committed offsets of what members own, the worst first, 30 of 42:"
    assert " ".join(lines[3].split()) == "t1 1 7 16 min 39 s the group commits nothing m1"
    assert (lines[-2].split()[0], lines[-1]) == ("t30", "  and 12 more: see consumption_now")


def test_what_is_wrong_is_not_cut_behind_what_is_idle(made):
    """Idle partitions may have stood still for longer."""
    idle = [stay(each, topic=f"idle{each}", last_offset=7, commits=1, last_advance_at=1) for each in range(9)]
    bad = stay(9, last_offset=9, advances=9, commits=9, last_advance_at=CAPTURED - 400_000_000)
    first, *others = committed(made([*idle, bad | {"behind_since": 1, "ahead_by": 5, "ahead_group": "h"}]))
    assert first == "t 9 9 6 min 40 s progress: suspected: h has read 5 offsets more; member: m"
    assert len(others) == 9


def test_many_partitions_that_go_on_are_one_row(made):
    group = made(
        [
            stay(each, last_offset=each, advances=9, commits=9, last_advance_at=CAPTURED - 1_000_000 * (1 + each % 2))
            for each in range(200)
        ]
    )
    assert committed(group) == ["t 0-199 0 to 199 up to 2 s goes on m"]


def test_every_state_has_a_sentence():
    """`no_commit_yet` is said by the offset, `unknown` by nothing."""
    states = set(re.findall(r"(?:THEN|ELSE) '(\w+)'", read("queries/relations/consumption_now.sql")))
    own = {"suspected", "messages_waiting", "member_stopped", "blocked_by_transaction", "no_commit_yet", "unknown"}
    assert len(states) > len(own)
    assert states - own == _STATES.keys()


COMMITTED = [
    ({"start_offset": 3}, "3 ≥ 1 min too early to say"),
    ({"start_offset": 3, "last_offset": 3, "commits": 2, "unchanged": 2}, "3 ≥ 1 min too early to say"),
    (
        {"first_commit_at": CAPTURED - 5_000_000, "last_offset": 3, "commits": 1},
        "3 5 s too early to say",
    ),
    ({}, "nothing 1 min too early to say"),
    ({"history": "censored"}, "not in this log ≥ 1 min"),
    ({"start_offset": 3, "removed": 1}, "3, removed ≥ 1 min too early to say"),
]


@pytest.mark.parametrize(("row", "said"), COMMITTED)
def test_how_far_a_partition_has_come(made, row, said):
    assert committed(made([stay(0, **row)])) == [f"t 0 {said} m"]


def test_an_offset_that_jumped_has_stood_still_since(made):
    row = stay(0, last_offset=3, last_commit_at=CAPTURED - 8_000_000, last_advance_at=CAPTURED - 9_000_000, removed=1)
    jump = {"member_id": "m", "jumped_at": CAPTURED - 4_000_000, "kind": "lost", "before_offset": 3}
    assert committed(made([row], [jump])) == ["t 0 3, removed 4 s too early to say m"]


CLAIMS = [
    ({"context": "no_members", "recovered_at": 9}, "exactly 3 offsets are read again"),
    ({"context": "no_members"}, "exactly 3 offsets are read again if members go on past 8"),
    ({"context": "same_owner"}, "at least 3 offsets are read again"),
    ({"context": "owner_change", "previous_member_id": "p"}, "at least 3 offsets are read again"),
    (
        {"context": "owner_change", "previous_member_id": "late"},
        "the owner before committed late; nothing follows from it",
    ),
    ({"context": "previous_owner"}, "the owner before committed late; nothing follows from it"),
    ({"context": "simple"}, "no member owned the partition; nothing follows from it"),
]


@pytest.mark.parametrize(("row", "claim"), CLAIMS)
def test_what_an_offset_that_went_back_proves(made, row, claim):
    back = {"jumped_at": 5, "kind": "back", "before_offset": 8, "after_offset": 5, "amount": 3} | row
    said = flat(lines_of(made([stay(0, member_id="late", late_commits=1)], [back]), JUMPS))
    assert f": {claim} Offsets are counted" in said


def test_what_was_changed_again_proves_less(made):
    back = {"jumped_at": 5, "kind": "back", "context": "no_members", "before_offset": 8, "after_offset": 5, "amount": 3}
    ahead = back | {"jumped_at": 6, "kind": "ahead", "before_offset": 5, "after_offset": 8}
    rows = [back | {"recovered_at": 6}, ahead, ahead | {"jumped_at": 7, "amount": 1}]
    said = flat(lines_of(made((), rows), JUMPS))
    assert "at most 3 offsets are read again, since it was changed again" in said
    assert "its members skip at most 3 offsets" in said
    assert "its members skip exactly 1 offset " in said


@pytest.mark.parametrize(
    ("context", "claim"),
    [
        ("owner_change", "it reads at most 8 offsets again"),
        ("no_members", "no member committed it; nothing follows from it"),
    ],
)
def test_a_restart_below_the_lost_offset(made, context, claim):
    row = {"jumped_at": 5, "kind": "restart_after_loss", "before_offset": 8, "after_offset": 5, "amount": 3}
    assert f"then came 5: {claim}" in flat(lines_of(made((), [row | {"context": context}]), JUMPS))


def test_jumps_are_cut(made):
    rows = [
        {"jumped_at": 1_000_000 * nth, "kind": "lost", "before_offset": nth, "cause": "deleted"} for nth in range(25)
    ]
    lines = lines_of(made((), rows), JUMPS)
    assert lines[1] == "Jumps of committed offsets, the latest first, 20 of 25:"
    assert " ".join(lines[3].split()) == "1970-01-01 00:00:24 UTC t 0 24 was lost: presumably a tool removed it"
    said = "\n".join(lines)
    assert "  and 5 more: see commit_jump\n" in said
    assert lines[-1].startswith("Offsets are counted, not messages; what was read but not committed does not show. Of")


def test_jumps_of_several_partitions_of_the_log_are_in_one_order(made):
    """A group is in two partitions of the log after it got more of them."""
    lost = {"kind": "lost", "before_offset": 7, "cause": "deleted"}
    old = [lost | {"offsets_partition": 3, "partition": nth, "jumped_at": 1_000_000 * nth} for nth in range(25)]
    new = lost | {"offsets_partition": 9, "partition": 77, "jumped_at": 30_000_000}
    lines = lines_of(made((), [*old, new], partitions=(3, 9)), JUMPS)
    assert " ".join(lines[3].split()).startswith("1970-01-01 00:00:30 UTC t 77 ")
