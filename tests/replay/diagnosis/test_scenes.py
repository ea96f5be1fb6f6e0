"""The diagnosis of labelled logs: what really happened is found under its name, and nothing else is told."""

from functools import cache
from random import Random
from typing import Any, NamedTuple

import pytest

from kip848_records.replay.diagnosis.diagnose import across_groups, episodes_of
from kip848_records.replay.diagnosis.episodes import Episode
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.job import jobs
from kip848_records.replay.diagnosis.outline import outline
from tests.replay.diagnosis.scenes import scene
from tests.seeds import daily_seeds

NAMES = ("healthy", "trouble", "across", "days")
PATTERNS = {
    "poll_timeout_loop": {"leaves_and_returns", "restart_loop", "static_member_flaps"},
    "daily_job": {"job"},
}
"""The patterns that a label stands for, where its name is not theirs."""
POLL = {"poll_timeout", "poll_timeout_possible"}
UNLIKE_ITS_LABEL = {"cart-scorer": "static_member_flaps"}
"""Two holders of an instance id with Kubernetes' growing delay: the log does not tell them from one that restarts."""
COUNTS = {"catalog-enricher.live", "review-loader"}
"""Processes that die before their classic join completes leave nothing; topics may change between two refreshes."""
SLACK_MS = 150_000
COSTLY = {"trouble": pytest.mark.slow}
"""The scene whose groups take several CPU s."""


class Found(NamedTuple):
    """The label of a group, its episodes that no other one explains, and its rows."""

    label: dict[str, Any]
    episodes: list[Episode]
    history: GroupHistory

    @property
    def of_label(self) -> list[Episode]:
        """The episodes under the label's name."""
        names = patterns(self.label["label"])
        found = [each for each in self.episodes if each.pattern in names]
        if self.label["label"] == "poll_timeout_loop":
            found = [each for each in found if each.probable_cause in POLL]
        return found


def patterns(label: str) -> set[str]:
    return PATTERNS.get(label, {label})


@cache
def found_in(name: str) -> dict[str, Found]:
    """The diagnosis of each group of a log."""
    read = scene(name)
    labels = {each["group_id"]: each for each in read.labels}
    return {
        group_id: Found(labels[group_id], [each for each in episodes_of(history) if each.explained_by is None], history)
        for group_id, history in read.groups.items()
    }


@pytest.fixture(scope="module", autouse=True)
def scenes_are_read():
    """Before any case, whose time it would be."""
    for name in NAMES:
        found_in(name)


@pytest.mark.parametrize("name", NAMES)
def test_no_alarm_for_a_healthy_group(name):
    alarms = [
        (group_id, episode.pattern, episode.severity)
        for group_id, found in found_in(name).items()
        if found.label["label"] == "healthy"
        for episode in found.episodes
        if episode.severity != "info"
    ]
    assert not alarms


@pytest.mark.parametrize("name", ["trouble", "days"])
def test_each_trouble_is_found_under_its_name(name):
    other = {
        group_id: {episode.pattern for episode in found.episodes}
        for group_id, found in found_in(name).items()
        if found.label["label"] != "healthy" and not found.of_label
    }
    assert other == (
        {group_id: {pattern} for group_id, pattern in UNLIKE_ITS_LABEL.items()} if name == "trouble" else {}
    )


@pytest.mark.parametrize("name", ["trouble", "days"])
def test_nothing_else_is_told_of_a_trouble(name):
    for group_id, found in found_in(name).items():
        label = found.label
        allowed = [label["label"], *label["also"], *label.get("or", ()), *(label.get("nuisance") or ())]
        right = set().union(*map(patterns, allowed))
        assert {each.pattern for each in found.episodes if each.severity != "info"} <= right, group_id


@pytest.mark.parametrize("name", ["trouble", "days"])
def test_the_subject_is_the_process_that_fails(name):
    subjects = 0
    for group_id, found in found_in(name).items():
        wanted = found.label.get("subjects") or [found.label.get("subject")]
        names = {(each["client_id"], each["host"]) for each in wanted if each and each["client_id"] is not None}
        for episode in found.of_label:
            if not names:
                break
            subject = episode.subject
            hosts = {host for client, host in names if client == subject.client_id}
            assert hosts & {None, subject.client_host}, group_id
            subjects += 1
    assert subjects > 10


@pytest.mark.parametrize(("name", "off"), [("trouble", COUNTS), ("days", set())])
def test_counts(name, off):
    wrong = {
        group_id
        for group_id, found in found_in(name).items()
        if found.of_label
        and (expected := found.label["about_count"]) > 1
        and not expected * 2 <= 3 * sum(episode.count for episode in found.of_label) <= expected * 4
    }
    assert wrong == off


def test_every_rollout_is_one_row():
    rollouts = [
        (group_id, event, [each for each in found.episodes if each.pattern == "rolling_restart"])
        for name in NAMES
        for group_id, found in found_in(name).items()
        for event in found.label.get("events", ())
    ]
    for group_id, event, episodes in rollouts:
        of_event = [each for each in episodes if each.first_seen <= event["to"] + SLACK_MS]
        of_event = [each for each in of_event if each.last_seen >= event["from"]]
        assert len(of_event) == 1, (group_id, event)
        assert abs(of_event[0].count - event["members"]) <= max(1, event["members"] // 4), (group_id, event)
    assert len(rollouts) == 98


@pytest.mark.parametrize(("name", "storms"), [("healthy", 0), ("trouble", 3), ("across", 6), ("days", 0)])
def test_storms_across_groups(name, storms):
    read = scene(name)
    outlines = [outline(history, group_id) for group_id, history in read.groups.items()]
    rows = list(across_groups(outlines, read.captured_at))
    labels = [each for each in read.labels if each["label"] == "storm_across"]
    assert len(labels) == storms == len(rows)
    for label, row in zip(sorted(labels, key=lambda each: each["from"]), rows, strict=True):
        assert row.first_seen <= label["to"] + SLACK_MS
        assert row.last_seen >= label["from"]
        assert row.severity == "warning"
        assert len(set(label["groups"]) & set(row.subject[6])) >= 0.6 * len(label["groups"])


@pytest.mark.parametrize("name", [pytest.param(each, marks=COSTLY.get(each, ())) for each in NAMES])
def test_the_bill_of_a_group_is_no_larger_than_its_rebalances(name):
    """Each rebalance is in the bill once: what the rows share is not added twice."""
    billed = 0
    for history in scene(name).groups.values():
        rows = episodes_of(history)
        total = sum(each.unowned_ms or 0 for each in history.rebalances)
        lost = sum(each.lost_ms or 0 for each in rows)
        assert lost <= total
        assert all((each.lost_ms or 0) + (each.away_ms or 0) <= (each.unowned_ms or 0) for each in rows)
        # Where a row has no other beside it, it pays for all of its rebalances.
        assert all(
            each.lost_ms + (each.away_ms or 0) == each.unowned_ms
            for each in rows
            if each.rebalances_shared == 0 and each.lost_ms is not None
        )
        billed += lost
    assert billed > 0


@pytest.mark.parametrize("name", NAMES)
def test_no_two_rows_of_a_group_contradict_each_other(name):
    """A job's runs are no loop, storm or deployment, and a group that fails now has no row that says so of none."""
    for group_id, (_, found, history) in found_in(name).items():
        timetables = jobs(history)
        runs = {stay.member_id for stay in history.stays for job in timetables if job.is_run(stay)}
        for episode in found:
            assert runs.isdisjoint(episode.members or ()), (group_id, episode.pattern)
            is_about_all = episode.pattern in {"storm", "everybody_left"}
            assert not (is_about_all and any(_overlap(episode, job) for job in timetables)), (group_id, episode.pattern)
        if any(episode.severity == "error" and episode.is_present for episode in found):
            assert not [each.words for each in found if each.is_present and "othing" in each.words[1]], group_id


def _overlap(episode, job):
    return episode.first_seen <= job.runs[-1].begin and episode.last_seen >= job.runs[0].begin


CLOCKS = [
    *(pytest.param(name, 1, marks=() if name == "across" else pytest.mark.slow) for name in NAMES),
    *(
        pytest.param(name, seed, marks=pytest.mark.nightly)
        for name in NAMES
        for seed in daily_seeds(10, "clocks that jump")
    ),
]


@pytest.mark.parametrize(("name", "seed"), CLOCKS)
def test_clocks_that_jump(name, seed):
    """Other brokers lead a partition in turn, with clocks that are minutes apart: no group's rows fail."""
    rng = Random(seed)  # noqa: S311
    captured_at = scene(name).captured_at
    times = sorted(rng.randrange(captured_at - 24 * 3_600_000, captured_at) for _ in range(40))
    jumps = [(at, rng.choice([-600_000, -90_000, -1000, 1000, 90_000, 600_000])) for at in times]

    def clock(at):
        return at + sum(by for since, by in jumps if since <= at)

    for group_id, history in scene(name, clock).groups.items():
        outline(history, group_id)
        for episode in episodes_of(history):
            assert all(episode.words)
            assert episode.first_seen <= episode.last_seen, (group_id, episode)
            assert episode.ended_at is None or episode.ended_at >= episode.last_seen, (group_id, episode)
            assert (
                episode.pattern != "two_applications" or found_in(name)[group_id].label["label"] == "two_applications"
            )
