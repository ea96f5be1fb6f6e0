"""What the page says against the tables' rows, read without Spark and counted one by one."""

from collections import Counter, defaultdict
from functools import partial

import pytest

from kip848_records.config import load_settings
from kip848_records.report.page import contents as bounds
from kip848_records.report.page import histories
from kip848_records.report.page.contents import contents
from tests.audits import CLUSTERS

CAPTURE = "kafka-4.3.1"
CLUSTER = CLUSTERS[CAPTURE]
BLOCKER = "AO+GgHMxReaKGwL+kgwOyw (stuck-app, /127.0.0.1)"
_KINDS = ("reconciled", "revoking", "waiting")


def ms(at):
    return None if at is None else round(at.timestamp() * 1000)


@pytest.fixture(scope="module")
def rows(audits):
    """The capture's rows of a table, by group."""

    def of(table):
        by_group = defaultdict(list)
        for row in audits.rows(CAPTURE, table):
            by_group[row["group_id"]].append(row)
        return by_group

    return of


@pytest.fixture(scope="module")
def groups(told):
    return {group["group_id"]: group for group in told.groups if group["cluster"] == CLUSTER}


@pytest.fixture(scope="module")
def history(told):
    return {group_id: history for (cluster, group_id), history in told.histories.items() if cluster == CLUSTER}


def test_every_group_that_ever_was_is_listed(groups, rows):
    assert set(groups) == set(rows("group_state_timeline"))
    states = {group_id: state["state"] for group_id, (state,) in rows("group_state").items()}
    assert {group_id: group["state"] for group_id, group in groups.items()} == {
        group_id: states.get(group_id, "deleted") for group_id in groups
    }


def test_the_numbers_of_a_group_are_those_of_its_rows(groups, rows):
    epochs, handovers = rows("epoch_timeline"), rows("partition_handover")
    for group_id, group in groups.items():
        assert (group["epochs"] or 0) == len(epochs[group_id])
        seen = [
            (row["rebalance_lag_ms"], row["group_epoch"], row["bump_offset"])
            for row in epochs[group_id]
            if row["history"] == "observed" and row["rebalance_lag_ms"] is not None
        ]
        assert (tuple(group["slowest"].values()) if group["slowest"] else None) == max(seen, default=None)
        seen = [row for row in handovers[group_id] if row["history"] == "observed" and not row["clock_skew"]]
        unowned = sum(row["wanted_ms"] or 0 for row in seen)
        assert (group["unowned_ms"] or 0) == unowned
    # The capture is a minute long: every hour has all.
    assert {id_: group["most"]["in_hour"] for id_, group in groups.items() if group["most"]} == {
        group_id: len(of_group) for group_id, of_group in epochs.items() if of_group
    }


def test_the_worst_come_first(told, audits):
    assert (told.groups[0]["group_id"], told.groups[0]["convergence"]) == ("stuck", "not converged")
    assert told.groups[0]["blocker"] == f"member {BLOCKER} holds up 1 other"
    states = [row for capture in CLUSTERS for row in audits.rows(capture, "group_state")]
    behind = [row for row in states if row["state"] in {"Assigning", "Reconciling"} and not row["waits_for_away_only"]]
    assert [group["since_ms"] for group in told.groups[: len(behind)]] == sorted(ms(row["since"]) for row in behind)
    assert "not converged" not in {group["convergence"] for group in told.groups[len(behind) :]}
    lags = [row["rebalance_lag_ms"] for row in told.slowest]
    assert lags == sorted(lags, reverse=True)
    epochs = [row for capture in CLUSTERS for row in audits.rows(capture, "epoch_timeline")]
    seen = [row["rebalance_lag_ms"] or 0 for row in epochs if row["history"] == "observed" and not row["clock_skew"]]
    assert lags == sorted(seen, reverse=True)[: len(lags)]


def test_groups_are_counted_by_state(told, audits):
    states = [row for capture in CLUSTERS for row in audits.rows(capture, "group_state")]
    there = Counter((row["state"], row["group_type"]) for row in states)
    counted = Counter()
    for (state, group_type, _), count in told.counts.items():
        counted[state, group_type] += count
    assert {kind: count for kind, count in counted.items() if kind[0] != "deleted"} == there
    assert sum(told.counts.values()) == len(told.groups)


def test_bumps_are_all_epochs(told, audits):
    epochs = [row for capture in CLUSTERS for row in audits.rows(capture, "epoch_timeline")]
    causes = Counter()
    for row in told.bumps:
        assert row["at_s"] % told.step_s == 0
        causes[row["cause"]] += row["epochs"]
    assert causes == Counter(row["cause"] for row in epochs)
    assert {(row["partition"], row["bump_offset"]) for row in told.bumps} <= {
        (row["partition"], row["bump_offset"]) for row in epochs
    }


def test_epochs_states_and_handovers_are_the_tables(history, rows):
    epochs, states, handovers = rows("epoch_timeline"), rows("group_state_timeline"), rows("partition_handover")
    for group_id, told in history.items():
        assert {(e["group_epoch"], e["bump_offset"], e["bumped_at_ms"], e["rebalance_lag_ms"], e["history"])
                for e in told.get("epochs", [])} == {
            (e["group_epoch"], e["bump_offset"], ms(e["bumped_at"]), e["rebalance_lag_ms"], e["history"])
            for e in epochs[group_id]
        }  # fmt: skip
        assert {(s["state"], s["from_offset"], s["from_at_ms"], s["to_at_ms"]) for s in told["states"]} == {
            (s["state"], s["from_offset"], ms(s["from_at"]), ms(s["to_at"])) for s in states[group_id]
        }
        assert {
            (each["offset"], each["topic"], number, each["from_member"], each["to_member"], each["released_at_ms"])
            for each in told.get("handovers", [])
            for number in each["numbers"]
        } == {
            (h["acquired_offset"], h["topic"], h["partition"], h["from_member"], h["to_member"], ms(h["released_at"]))
            for h in handovers[group_id]
        }


def test_members_bars_are_what_a_plain_replay_sees(history, rows):
    events = rows("group_event")
    assert {"revoking", "waiting", "behind", "away", "reconciled"} <= {
        bar["kind"] for told in history.values() for bar in told.get("bars", [])
    }
    for group_id, told in history.items():
        bars = [(b["member_id"], b["kind"], b["from_ms"], b["until_ms"]) for b in told.get("bars", [])]
        assert joined(bars) == joined(replayed(events[group_id])), group_id


def replayed(events):
    """What each member is after each record, one record at a time: `(member, kind, from, until)`."""
    assigned, members, spells = {}, {}, []

    def ends(member_id, at):
        if member_id in members:
            kind, since, _ = members.pop(member_id)
            spells.append((member_id, kind, since, at))

    for event in sorted(events, key=lambda event: event["offset"]):
        at, member_id = ms(event["timestamp"]), event["member_id"]
        match event["key_type"], event["is_tombstone"]:
            case 6, False:
                assigned[event["incarnation"]] = newest = event["assignment_epoch"]
                for each, (kind, _, epoch) in list(members.items()):
                    if kind == "reconciled" and epoch < newest:
                        ends(each, at)
                        members[each] = ("behind", at, epoch)
            case 8, False:
                epoch = event["member_epoch"]
                kind = "away" if epoch == -2 else _KINDS[event["member_state"]]
                ends(member_id, at)
                is_behind = kind == "reconciled" and epoch < assigned.get(event["incarnation"], 0)
                members[member_id] = ("behind" if is_behind else kind, at, epoch)
            case ((5 | 8), True):
                ends(member_id, at)
    for member_id in list(members):
        ends(member_id, None)
    return spells


def joined(spells):
    """Spells without those that took no time, and with neighbours of one kind as one."""
    found = []
    for member_id, kind, since, until in sorted(spells, key=lambda spell: (spell[0], spell[2], spell[3] or 2**63)):
        if since == until:
            continue
        if found and found[-1][:2] == [member_id, kind] and found[-1][3] == since:
            found[-1][3] = until
        else:
            found.append([member_id, kind, since, until])
    return found


def test_who_waits_for_whom_is_told_in_the_words_of_explain(history):
    assert history["stuck"]["waiting"] == [
        (
            f"{BLOCKER}: behind for 28 s, was asked for 27 s to give up partitions (may take 5 min each time)",
            [],
        ),
        (
            "FtlgbpIxRq2qpiSoveFJQw (stuck-app, /127.0.0.1): behind for 28 s, waits for 12 partitions",
            [f"clicks 12-23 held by {BLOCKER}"],
        ),
    ]
    assert {group_id for group_id, told in history.items() if told.get("waiting")} == {"stuck"}


def test_too_much_is_cut_and_counted(spark, audits, monkeypatch):
    monkeypatch.setitem(histories.LIMITS, "epochs", 5)
    monkeypatch.setattr(bounds, "GROUPS_LISTED", 4)
    monkeypatch.setattr(bounds, "GROUPS_DRAWN", 2)
    off = {name: type(setting)("off", {}) for name, setting in load_settings().items()}
    told = contents(spark, str(audits.out), off, CLUSTER)
    listed = [group["group_id"] for group in told.groups]
    assert len(listed) == 4
    assert listed[0] == "stuck"
    assert sum(told.counts.values()) > 4
    assert [group for _, group in told.histories] == listed[:2]
    audited = bounds.Audited(partial(bounds._of_cluster, spark, str(audits.out), CLUSTER), None, "")
    churn = spark.createDataFrame([("churn",)], "group_id string")
    cut = histories.histories(audited, churn)["epochs"].collect()
    assert sorted(row.group_epoch for row in cut) == [27, 28, 29, 30, 31]
    assert {row.total for row in cut} == {30}
