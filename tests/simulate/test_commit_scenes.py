"""The log of each scene of consumption against what its clients did."""

import itertools
import struct
from collections import defaultdict

import pytest

from tests.simulate.commit_scenes import END, TOMBSTONE, chosen, commits_of, id_of, played

NAMES = sorted({scene.name for scene in chosen()})
REMOVED = {"expired", "deleted", "topic_deleted", "group_expired", "group_deleted"}


class Played:
    """A scene's facts, and its commits by group, topic and partition."""

    def __init__(self, scene):
        self.rows, self.facts = played(scene)
        self.group_id = id_of(scene)
        self.commits = defaultdict(list)
        for commit in commits_of(self.rows):
            self.commits[commit[:3]].append(commit)

    def of(self, fact):
        return [row for row in self.facts[fact] if row["group_id"] == self.group_id]

    def commits_of(self, row):
        return self.commits[row["group_id"], row["topic"], row["partition"]]


@pytest.fixture(scope="module", params=NAMES)
def scenes(request):
    return [Played(scene) for scene in chosen(request.param)]


def test_a_partition_that_stands_still_gets_no_new_commit(scenes):
    for played_ in scenes:
        for row in played_.of("stall"):
            until = END if row["to_at"] is None else row["to_at"]
            offsets = [each.offset for each in played_.commits_of(row) if row["from_at"] <= each.at < until]
            assert max(offsets, default=0) <= row["first_position"], row
            assert row["waiting"] == 0 or row["waits_since"] >= row["from_at"]


def test_what_clients_still_read_is_read_to_the_end(scenes):
    for played_ in scenes:
        ends = {(row["topic_id"], row["partition"]): row["end_offset"] for row in played_.of("end_offset")}
        for row in played_.of("reading"):
            if row["to_at"] is None:
                assert ends[row["topic_id"], row["partition"]] - row["next_position"] < 3 * 110, row


def test_every_removed_offset_is_a_tombstone_and_every_tombstone_a_removed_offset(scenes):
    for played_ in scenes:
        removed = [row for row in played_.of("offset_change") if row["kind"] in REMOVED]
        true = sorted((row["topic"], row["partition"], row["at"]) for row in removed)
        found = sorted(
            (each.topic, each.partition, each.at)
            for (group_id, *_), commits in played_.commits.items()
            for each in commits
            if group_id == played_.group_id and each.offset == TOMBSTONE
        )
        assert found == true
        for row in removed:
            before = [each for each in played_.commits_of(row) if each.at <= row["at"] and each.offset != TOMBSTONE]
            assert before[-1].offset == row["before_offset"]


def test_a_reset_is_a_commit_and_the_next_owner_begins_there(scenes):
    for played_ in scenes:
        for row in played_.of("offset_change"):
            if row["kind"].startswith("reset"):
                assert any(each[3:5] == (row["at"], row["after_offset"]) for each in played_.commits_of(row))
                place = (row["topic"], row["partition"])
                later = [
                    each["first_position"]
                    for each in sorted(played_.of("reading"), key=lambda each: each["from_at"])
                    if (each["topic"], each["partition"]) == place and each["from_at"] > row["at"]
                ]
                assert later[0] == row["after_offset"]


def test_a_seek_back_is_seen_in_commits_of_java_only():
    backs = {}
    for scene in chosen("seek", "consumer"):
        played_ = Played(scene)
        commits = next(
            [each.offset for each in played_.commits_of(row)]
            for row in played_.of("offset_change")
            if row["kind"] == "seek_back"
        )
        backs[scene.style] = sum(later < before for before, later in itertools.pairwise(commits))
    assert backs == {"java": 1, "librdkafka": 0}


def test_an_open_transaction_has_records_and_no_marker():
    for scene in chosen("transaction-left-open"):
        played_ = Played(scene)
        (true,) = played_.of("transaction")
        rows = [row for row in played_.rows.to_pylist() if row["producer_id"] == true["producer_id"]]
        behind = [row for row in rows if row["timestamp"] >= true["first_at"]]
        assert {row["control"] for row in behind} == {-1}
        assert len(behind) == true["records"] > 0
        keys = {(each["topic"], each["partition"]) for each in true["topic_partitions"]}
        blocked = {(row["topic"], row["partition"]) for row in played_.of("stall") if row["why"] == "transaction_open"}
        assert blocked == keys


def test_the_marker_of_a_transaction_that_timed_out_has_the_next_epoch():
    for scene in chosen("transaction-timed-out"):
        played_ = Played(scene)
        (true,) = played_.of("transaction")
        rows = [row for row in played_.rows.to_pylist() if row["producer_id"] == true["producer_id"]]
        marker = rows[-1]
        assert (marker["timestamp"], marker["producer_epoch"]) == (true["ended_at"], 1)
        assert marker["key"] == struct.pack(">hh", 0, 0)


@pytest.mark.parametrize(("kind", "late"), [("consumer", {10}), ("eager", set()), ("cooperative", range(2, 370))])
def test_a_cooperative_member_commits_after_the_generation_without_the_partition(kind, late):
    found = set()
    for scene in chosen("more-members", kind, "java"):
        played_ = Played(scene)
        for row in played_.of("reading"):
            after = [
                each.at - row["to_at"] for each in played_.commits_of(row) if row["to_at"] and each.at > row["to_at"]
            ]
            others = [
                each["from_at"]
                for each in played_.of("reading")
                if (each["topic"], each["partition"]) == (row["topic"], row["partition"])
                and each["from_at"] >= (row["to_at"] or END)
            ]
            free = min(others, default=END) - (row["to_at"] or END)
            found |= {ms for ms in after if ms < free}
    assert found <= set(late)
    assert bool(found) == bool(late)


def test_new_partitions_are_read_from_where_they_end_when_members_hear_of_them():
    for scene in chosen("topic-grows"):
        played_ = Played(scene)
        new = [row for row in played_.of("reading") if row["partition"] >= 6]
        assert {row["partition"] for row in new} == {6, 7}
        for row in new:
            offsets = [each.offset for each in played_.commits_of(row)]
            assert 0 <= row["first_position"] < 60
            assert row["first_position"] <= offsets[0] <= offsets[-1] <= row["next_position"]
