"""The rows of `diagnosis` about committed offsets, in the log of a broker and in simulated ones."""

import re
from datetime import UTC, datetime

import pytest

from kip848_records.decode.records import CHECKED_COLUMNS
from kip848_records.pipeline.consumption_troubles import troubles_of_commits
from kip848_records.queries.texts import completed
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.tables.registry import TABLES
from tests.commits_of_a_broker import SILENCE, audited

PATTERNS = ("not_consumed", "blocked_by_transaction", "offsets_lost")
OFF = f"{SILENCE}groups.'g-d*'.enabled = false\n[diagnosis.offsets_lost]\npresent_seconds = 5\n"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("tables"), SILENCE)


def troubles(tables):
    rows = tables.rows("SELECT * FROM diagnosis", "c")
    return {(row.pattern, row.group_id): row for row in rows if row.pattern in PATTERNS}


@pytest.fixture(scope="module")
def found(tables):
    return troubles(tables)


def ms(at):
    return None if at is None else round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def told(row):
    return row.severity, row.probable_cause, row.count, *map(ms, (row.first_seen, row.recognized_at, row.ended_at))


def test_the_texts_name_no_table_but_those_that_they_are_given(engine, monkeypatch):
    """DuckDB overlooks a relation that nothing uses, such as one named like an alias; Spark misses its tables."""
    texts, sql = [], engine.sql
    monkeypatch.setattr(engine, "sql", lambda text, **rows: texts.append(text) or sql(text, **rows))
    commits = engine.relation(CHECKED_COLUMNS.empty_table())
    assert troubles_of_commits(engine, ReplayInputs("kafka", None, {}), commits).num_rows == 0
    assert len(texts) >= 7
    for text in texts:
        read = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", text)) & TABLES.keys()
        assert read <= set(re.findall(r"(\w+) AS \(", text)), text


@pytest.mark.slow
def test_which_groups_have_one(found):
    groups = {pattern: {group for of, group in found if of == pattern} for pattern in PATTERNS}
    assert groups == {
        "not_consumed": {"g-alldead", "g-dead", "g-dead-c", "g-pause", "g-txto"},
        "blocked_by_transaction": {"g-hang"},
        "offsets_lost": {"g-again", "g-again-cla", "g-delete"},
    }


def test_a_partition_that_was_paused(found):
    """Its offset moved last at ...210112, and another group was ahead already; 20 s later that was long enough."""
    row = found["not_consumed", "g-pause"]
    assert told(row) == ("warning", "messages_waiting", 1, 1795780210112, 1795780230112, None)
    assert (row.subject["client_id"], row.subject["client_host"]) == ("g-pause-0", "/127.0.0.1")
    assert row.subject["topics"] == ["t-orders"]
    assert row.sentence == (
        "g-pause-0 @ 127.0.0.1 does not seem to consume t-orders 3: the committed offset 260 has not moved for "
        "1 min 50 s; g-manual read 556 offsets more."
    )


def test_a_member_is_one_row(found):
    row = found["not_consumed", "g-dead"]
    assert row.count == 3
    assert "t-orders 0-2: the committed offsets have not moved" in row.sentence


def test_a_transaction_is_one_row(found):
    """It began at ...262664. When the offsets had not moved for 20 s, it was no longer one of many."""
    row = found["blocked_by_transaction", "g-hang"]
    assert told(row)[:4] == ("error", None, 4, 1795780262664)
    assert ms(row.first_seen) < ms(row.recognized_at) <= 1795780262664 + 20_000
    assert row.subject["what"] == "producer 2"
    assert row.sentence.startswith("t-pay 0-3 wait for an open transaction of producer 2")


def test_lost_offsets_are_over_when_they_are_committed_again(found):
    row = found["offsets_lost", "g-delete"]
    assert told(row)[:3] == ("warning", "deleted", 2)
    assert ms(row.first_seen) < ms(row.ended_at)
    assert not row.is_present
    assert "a tool did it" in row.sentence
    assert found["offsets_lost", "g-again"].probable_cause == "topic_deleted"


def test_such_a_group_is_not_healthy(tables, found):
    health = {row.group_id: row.health for row in tables.rows(completed("SELECT * FROM health_now"), "c")}
    failing = {group for (_, group), row in found.items() if row.is_present}
    assert {group for group, each in health.items() if each == "failing"} == failing
    assert health["g-skew"] == health["g-idle"] == "healthy"


@pytest.mark.slow
def test_limits_of_groups(tmp_path):
    found = troubles(audited(tmp_path, OFF))
    assert ("not_consumed", "g-dead") not in found
    assert ("not_consumed", "g-pause") in found
    row = found["offsets_lost", "g-delete"]
    assert ms(row.ended_at) > ms(row.last_seen) + 5_000  # all are committed again, so that counts


@pytest.mark.slow
def test_by_default_a_short_log_shows_losses_only(tmp_path):
    assert {pattern for pattern, _ in troubles(audited(tmp_path))} == {"offsets_lost"}
