"""The rows of `diagnosis`: words for every pattern, and what explains what."""

import re
from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace

import pytest

from kip848_records.replay import diagnosis
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.diagnosis import observed, precedence
from kip848_records.replay.diagnosis.diagnose import diagnoses, episodes_of, history_of
from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.patterns import PATTERNS
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.rows import Diagnosis, GroupOutline, PartitionHandover, RegexResolution
from kip848_records.specs.tables import DIAGNOSIS
from tests.replay.diagnosis.groups import MINUTE, ms, stay

COMMENT = next(column.comment for column in DIAGNOSIS.columns if column.name == "pattern")

NO_RESOLUTION = dict.fromkeys(RegexResolution._fields)


def episode(pattern, first=0.0, last=60.0, **more):
    subject = more.pop("subject", Subject(client_id="app", client_host="/10.0.0.1"))
    fields = {"count": 5, "recognized_at": ms(first), "ended_at": None, "incarnation": 0} | more
    return Episode(PATTERNS[pattern], subject, first_seen=ms(first), last_seen=ms(last), **fields)


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
@pytest.mark.parametrize("is_present", [True, False])
def test_every_pattern_has_words(pattern, is_present):
    facts = {"revoke_ms": 20_000, "others_ms": 1000, "all": 40}
    facts |= {"partitions": ["orders 1"], "committed": 5, "ahead_by": 2, "ahead_groups": ["b"]}
    facts |= {"units": "orders 1", "is_unowned": False, "retention_ms": MINUTE, "is_of_member": True}
    facts |= {"replaced": [7], "offsets": [-1]}
    facts |= {
        "commits": 9,
        "usual_ms": 9,
        "from_ms": 1,
        "until_ms": 2,
        "joined_ms": 3,
        "subscribes": ["b"],
        "regex": "",
    }
    facts |= {"stands_ms": MINUTE}
    facts |= {"assumed_ms": None, "last": [5, 4], "handovers": 2, "amount": 1, "began_ms": 3, "begun_ms": 2}
    facts |= {"reads": [(17, "http://b"), (42, "http://a")], "back": None, "assigns_nothing": True, "tasks": ("0_1",)}
    facts |= {"leader": None, "error": 9, "urls": ()}
    facts |= {"before": 50, "after": 60, "from": 1, "to": 2, "group": "a", "left": ["orders 1 at 5"], "since": []}
    subject = Subject(client_id="app", client_host="/1", members=3, topics=("orders",), groups=("a", "b"), what="x")
    ended_at = None if is_present else ms(90)
    made = episode(pattern, subject=subject, ended_at=ended_at, facts=facts, median_interval_ms=MINUTE)
    if pattern == "storm":
        made.probable_cause = "new"
    row = made.row("group", 3)
    assert row.sentence.endswith(".")
    assert row.next_step.endswith((".", "?"))
    assert row.is_present is is_present
    assert "None" not in row.sentence


def test_the_comment_names_all_patterns():
    assert set(re.findall(r"\w+", COMMENT)) == set(PATTERNS)


def test_every_pattern_of_a_module_is_listed_and_explained_by_known_ones():
    names = [each.name for each in iter_modules(diagnosis.__path__)]
    modules = [import_module(f"{diagnosis.__name__}.{name}") for name in names]
    made = {each for module in modules for each in vars(module).values() if isinstance(each, Pattern)}
    assert made == set(PATTERNS.values())
    assert {name for pattern in made for name in pattern.explained_by} <= {*PATTERNS}


def test_rows_become_arrow():
    subject = Subject(groups=("a", "b"), what="x")
    batch = to_batch(Diagnosis, [episode("storm_across", subject=subject, facts={"all": 9}).row(None, None)])
    (row,) = batch.to_pylist()
    assert (row["group_id"], row["subject"]["groups"], row["subject"]["client_id"]) == (None, ["a", "b"], None)
    assert row["first_seen"].timestamp() == 0


@pytest.mark.parametrize(
    ("pattern", "other", "is_explained"),
    [
        ("restart_loop", "storm", True),
        ("storm", "restart_loop", False),
        ("restart_loop", "assignor_flip", True),
        ("static_member_flaps", "assignor_flip", False),
        ("spares", "two_applications", True),
        ("slow_by_habit", "leaves_and_returns", True),
        ("no_topic", "storm", False),
    ],
)
def test_what_explains_what(pattern, other, is_explained):
    explained, by = episode(pattern), episode(other, first=25)
    precedence.explain([explained, by])
    assert explained.explained_by == (other if is_explained else None)
    half = episode(other, first=31)
    again = episode(pattern)
    precedence.explain([again, half])
    assert again.explained_by is None, "it covers less than half of its time"


def test_a_slow_member_is_explained_by_its_own_loop_only():
    slow, loop = episode("slow_by_habit"), episode("restart_loop", subject=Subject(client_id="another"))
    precedence.explain([slow, loop])
    assert slow.explained_by is None


def test_episodes_of_a_subject_are_numbered():
    first, other, second = (
        *(episode("restart_loop"), episode("restart_loop", subject=Subject(client_id="another"))),
        episode("restart_loop", first=100, last=120),
    )
    precedence.explain([second, other, first])
    assert [each.episode for each in (first, other, second)] == [1, 1, 2]


def rows_of(rows, captured_at):
    context = SimpleNamespace(captured_at=captured_at, group_id="group", partition=3)
    history = history_of(context, ReplayInputs("kafka", captured_at, {}), rows)
    return [] if history is None else list(diagnoses(context, history, episodes_of(history)))


def test_the_rows_of_a_group_end_with_its_outline():
    rows = observed.ObservedRows()
    for n in range(8):
        rows.add(stay("app", 60 + 5.3 * n, 61 + 5.3 * n))
    loop, outline = rows_of(rows, ms(103))
    assert isinstance(loop, Diagnosis)
    assert (loop.group_id, loop.partition, loop.pattern) == ("group", 3, "restart_loop")
    assert isinstance(outline, GroupOutline)
    assert len(outline.run_begins) == 8
    assert not rows_of(rows, None)


def test_a_group_without_members_has_nothing():
    (outline,) = rows_of(observed.ObservedRows(), ms(100))
    assert not outline.run_begins


def test_wide_subscriptions_are_remembered_by_their_size(monkeypatch):
    monkeypatch.setattr(observed, "REMEMBERED", 1000)
    rows = observed.ObservedRows()
    for n in range(200):
        topics = [f"topic-{number}" for number in range(n, n + 1000)]
        rows.add(RegexResolution(**NO_RESOLUTION | {"regex": "topic-.*", "offset": n, "topics": topics}))
    found = list(rows.resolutions.values())
    assert [row.offset for row in found] == list(range(190, 200))


def test_members_with_one_subscription_share_it():
    rows = observed.ObservedRows()
    for number in range(50):
        rows.add(RegexResolution(**NO_RESOLUTION | {"regex": f"{number}", "topics": ["a", "b"], "offset": number}))
    assert len({id(row.topics) for row in rows.resolutions.values()}) == 1


def test_only_the_newest_rows_are_remembered(monkeypatch):
    monkeypatch.setattr(observed, "REMEMBERED", 6)
    rows = observed.ObservedRows()
    for n in range(20):
        rows.add(stay("app", 60 + 4.3 * n, 61 + 4.3 * n))
    loop, _ = rows_of(rows, ms(144))
    assert loop.at_least
    assert loop.count == 5, "the first one that is remembered follows none"


def test_what_is_past_does_not_explain_what_lasts():
    lasting, past = episode("restart_loop"), episode("storm", ended_at=ms(90))
    precedence.explain([lasting, past])
    assert lasting.explained_by is None


def said(pattern, subject=None, **more):
    return episode(pattern, subject=subject or Subject(client_id="app", members=3), **more).row("group", 3)


def test_a_session_is_set_where_its_group_type_has_it():
    of = {kind: said("static_member_flaps", kind=kind).next_step for kind in ("classic", "consumer")}
    assert "its session.timeout.ms" in of["classic"]
    assert "the group's consumer.session.timeout.ms (or the broker's group.consumer" in of["consumer"]
    assert "group.share.session" in said("leaves_and_returns", kind="share").next_step


@pytest.mark.parametrize(
    ("kind", "client_id", "setting"),
    [
        ("consumer", "app", "raise max.poll.interval.ms"),
        ("streams", "app", "raise main.consumer.max.poll.interval.ms"),
        ("classic", "app-4c7f-StreamThread-1-consumer", "raise main.consumer.max.poll.interval.ms"),
        ("classic", "connector-consumer-orders-3", "raise consumer.override.max.poll.interval.ms"),
    ],
)
@pytest.mark.parametrize("pattern", ["restart_loop", "leaves_and_returns", "static_member_flaps"])
def test_a_missed_poll_is_mended_where_the_client_has_the_setting(pattern, kind, client_id, setting):
    row = said(pattern, Subject(client_id=client_id), kind=kind, probable_cause="poll_timeout")
    assert setting in row.next_step


def test_what_streams_and_connect_have_for_the_other_settings_of_a_consumer():
    slow = {"revoke_ms": 20_000, "others_ms": 1000}
    assert "to give up tasks" in said("slow_by_habit", facts=slow, kind="streams").sentence
    assert "onPartitionsRevoked" not in said("slow_by_habit", facts=slow, kind="streams").next_step
    sinks = Subject(clients=("connector-consumer-orders-3",), members=1)
    assert "tasks.max" in said("spares", sinks, kind="consumer").next_step
    assert "rebalance.timeout.ms" in said("restart_loop", kind="connect").next_step
    assert "closed its consumer" not in said("restart_loop", kind="connect").sentence
    assert "connect.protocol" in said("assignor_flip", probable_cause="classic", kind="connect").next_step
    assert "had no worker" in said("everybody_left", kind="connect").sentence
    one_of_two = Subject(client_id="c", members_of_that_name=2)
    for kind, members in (("connect", "workers"), ("consumer", "members")):
        assert f"ne of 2 {members} named c" in said("restart_loop", subject=one_of_two, kind=kind).sentence


REJOINED = {"causes": frozenset(), "is_read": False, "left": 0}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (said("leaves_and_returns", subject=Subject()), "A client without client.id leaves"),
        (said("everybody_left", subject=Subject(instance_id="i")), "was instance id i (a client"),
        (said("everybody_left"), "for 1 h. The last"),
        (said("everybody_left", facts={"is_longest": True}), "for 1 h, longer than before."),
        (said("leaves_and_returns", kind="share"), "has no poll timeout"),
        (said("leaves_and_returns", kind="consumer"), "does not show its max.poll"),
        (said("static_member_flaps", probable_cause="poll_timeout"), "cannot tell"),
        (said("storm", Subject(members=0), probable_cause="rejoined", facts=REJOINED), "and none of them left."),
        (said("storm", Subject(members=1)), "under one name."),
        (said("two_applications", ended_at=ms(90)), "used one group id, and shared no topic"),
        (said("leaves_and_returns", count=1), "1 time in 1 h"),
        (said("flapping_topics", Subject(topics=tuple("abcdefg"))), "a, b, c, d, e and 2 more."),
        (said("flapping_topics", facts={"who": [Subject(client_id="it")]}), "match the pattern of it come and go"),
        (said("spares", facts={"who": [Subject(client_id=each) for each in "aabcd"]}), "3 members (a, b, c) have"),
        (said("spares", Subject(members=7), facts={"who": map(Subject, "abcde")}), "(a, b, c and 2 more) have"),
        (said("no_topic", facts={"who": [Subject(client_id="it")] * 3}), "3 members (it) with a subscription"),
        (said("assignor_flip", facts={"by": [("range", [Subject("a")])]}), "asked for: range by a."),
        (said("task_restarts", Subject(what="a, b, c, d, e, f", members=30)), "a, b, c, d, e and 25 more."),
    ],
)
def test_sentences(row, words):
    assert words in row.sentence


def test_a_hint_for_expressions_only():
    assert "RE2" in said("no_topic", Subject(regex="*", members=1)).next_step
    assert "RE2" not in said("no_topic", Subject(topics=("odrers",), members=1)).next_step


def test_the_newest_gaps_are_remembered(monkeypatch):
    monkeypatch.setattr(observed, "REMEMBERED", 3)
    rows = observed.ObservedRows()
    for number in range(5):
        values = {"from_member": "m", "released_at": number, "unowned_ms": 10, "wanted": number < 4, "wanted_ms": 4}
        row = PartitionHandover(**dict.fromkeys(PartitionHandover._fields) | values)
        rows.add(row)
        rows.add(row)
    assert rows.gaps == {("m", 2, 12): (2, 8), ("m", 3, 13): (2, 8), ("m", 4, 14): (0, 8)}
