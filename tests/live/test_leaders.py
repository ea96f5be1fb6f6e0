"""A partition of a real cluster gets another leader while it is fetched."""

import pytest

from kip848_records.cli import main
from kip848_records.sources.topic.client import Brokers
from tests.audits import table_rows
from tests.broker.clients import commit, make_topic
from tests.broker.running import KAFKA, OFFSETS, Broker
from tests.broker.settings import PARTITIONS
from tests.live.as_files import CLUSTER


def records(out):
    rows = table_rows(out, "log", CLUSTER)
    return [(row["partition"], row["offset"], row["key"], row["value"]) for row in rows if row["key"] is not None]


@pytest.mark.nightly
def test_a_leader_that_stops_while_its_partitions_are_fetched(broker, tmp_path, monkeypatch):
    more = {"offsets.topic.replication.factor": "2", "offsets.topic.num.partitions": str(PARTITIONS)}
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Broker(tmp_path / "first", broker.class_path, broker.tools, KAFKA, more=more)
    first.format()
    try:
        first.start()
        with first.joined(tmp_path / "second") as second:
            first.make_offsets_topic()
            make_topic(first, "subject")
            for number in range(2 * PARTITIONS):
                commit(first, f"commits-{number}", {("subject", 0): number}, times=20)
            leaders = first.admin.list_topics(timeout=10).topics[OFFSETS].partitions.values()
            assert {each.leader for each in leaders} == {1, 2}
            fetch, stops, lost = Brokers._fetch_once, [second.stop], set()

            def after_a_stop(*given):
                if stops:
                    stops.pop()()
                answer = fetch(*given)
                lost.update(answer[2])
                return answer

            monkeypatch.setattr(Brokers, "_fetch_once", after_a_stop)
            command = [
                "audit",
                f"kafka://{first.bootstrap}",
                "--offset-commits",
                "--quiet",
                "--cluster",
                CLUSTER,
                "--out",
            ]
            assert main([*command, str(tmp_path / "moved")]) == 0
            assert lost == {2}
            assert main([*command, str(tmp_path / "once")]) == 0
    finally:
        first.stop(hard=True)
    assert records(tmp_path / "moved") == records(tmp_path / "once")
    assert len(records(tmp_path / "once")) > 40 * PARTITIONS - 1
