"""A transaction that hangs holds a real broker's cleaner, and a member: each check that it concerns says so."""

import json
from collections import defaultdict

import pytest

from kip848_records.cli import main
from tests.broker.clients import consumer, make_topic, open_transaction, produce
from tests.broker.offsets_topic import clean, cleaned, close_segment, eager_cleaner, group_in, read
from tests.broker.settings import PARTITIONS
from tests.broker.waiting import wait_until

TOPIC = "of-held-cleaners"
HELD = 1
CONFIG = """
[expectations]
hanging_transaction = { max_timeout = 0, grace = 0 }
blocked_by_transaction = { min_silence = 0.1 }
"""
CHOSEN = ("hanging_transaction", "blocked_by_transaction", "compaction_alive")


@pytest.fixture
def violations(broker, tmp_path):
    """What `kip848 check` finds in the broker's files now: the violations of each expectation in CHOSEN."""
    config, file = tmp_path / "check.toml", tmp_path / "check.json"
    config.write_text(CONFIG)

    def violations():
        out, topics = str(tmp_path / "out"), tmp_path / "topics.json"
        topics.write_text(json.dumps({broker.topic_id(TOPIC): TOPIC}))
        audited = ["audit", str(broker.folder), "--out", out, "--topics", str(topics), "--offset-commits", "--quiet"]
        audited.append("--topic-content")
        # The cleaner goes on, and may take a file that was listed.
        wait_until(lambda: main(audited) == 0, "an audit of files that stay")
        chosen = [word for name in CHOSEN for word in ("--select", name)]
        main(["check", out, "--config", str(config), *chosen, "--quiet", "--json", str(file)])
        found = defaultdict(list)
        for each in json.loads(file.read_text())["expectations"]:
            found[each["name"]] = each["violations"]
        return found

    return violations


def commits_of(broker, group):
    """How many records commit offsets of a group, those in a transaction too."""
    return sum(key[:2] == b"\0\1" and group.encode() in key for _, key, _ in read(broker, HELD))


def test_a_transaction_that_hangs_holds_the_cleaner(broker, violations):
    make_topic(broker, TOPIC)
    group = group_in(HELD, "held")
    with consumer(broker, group, [TOPIC]) as member:
        member.wait_for(1)
        with open_transaction(broker, group, {(TOPIC, 0): 3}, member=member) as producer, eager_cleaner(broker):
            for own in (1, 2):
                produce(broker, TOPIC, 1)
                wait_until(lambda own=own: commits_of(broker, group) > own, f"{own} commits of the member")
            for partition in range(PARTITIONS):
                for _ in range(8):
                    close_segment(broker, partition)
            for partition in set(range(PARTITIONS)) - {HELD}:
                clean(broker, partition)

            found = violations()
            (hanging,) = (each for each in found["hanging_transaction"] if each["group_id"] == group)
            assert hanging["partition"] == HELD
            # The broker's own record of how far its cleaner has come.
            assert cleaned(broker).get(HELD, 0) <= hanging["offset"]
            (blocked,) = (each for each in found["blocked_by_transaction"] if each["group_id"] == group)
            assert blocked["member_id"] == member.id
            (dirty,) = found["compaction_alive"]
            assert dirty["partition"] == HELD
            assert dirty["offset"] <= hanging["offset"]
            assert f"A transaction of {group} is open from offset {hanging['offset']} on" in dirty["message"]

            producer.abort_transaction(20)
            clean(broker, HELD)
            found = violations()
        assert not any(each["group_id"] == group for rows in found.values() for each in rows)
        assert not found["compaction_alive"]
