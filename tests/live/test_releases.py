"""Brokers of other releases: their live topic, read without Spark, is what their own files are."""

import pytest

from tests.audits import table_rows
from tests.broker.clients import consumer, open_transaction
from tests.broker.processes import slow_consumer
from tests.broker.requests import group_states
from tests.broker.running import running_broker
from tests.broker.waiting import wait_until
from tests.downloads import UnavailableError
from tests.live.as_files import CLUSTER, assert_as_files, fill

SUBJECT = "subject"


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.parametrize("release", ["3.8.1", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.4.0"])
def test_all_tables_are_those_of_the_brokers_own_files(release, tmp_path):
    (tmp_path / "broker").mkdir()
    try:
        with running_broker(tmp_path / "broker", release) as broker:
            fill(broker, SUBJECT)
            with consumer(broker, "classic", [SUBJECT], protocol="classic") as member:
                member.wait_for(4)
            # The client of the release, because librdkafka's new protocol needs Kafka 4.
            java = {"group.id": "consumer", "client.id": "java", "group.protocol": "consumer"}
            with slow_consumer(broker, java, SUBJECT, 1, tmp_path):
                wait_until(lambda: group_states(broker).get("consumer") == ("consumer", "Stable"), "a stable group", 60)
            with open_transaction(broker, "commits-3", {(SUBJECT, 2): 9}) as producer:
                assert_as_files(broker, tmp_path, offset_commits=True)
                producer.abort_transaction(20)
    except UnavailableError as unavailable:
        pytest.skip(str(unavailable))
    states = {row["group_id"]: row["group_type"] for row in table_rows(tmp_path / "live", "group_state", CLUSTER)}
    assert (states["classic"], states["consumer"]) == ("classic", "consumer")
    assert len(table_rows(tmp_path / "live", "open_transaction", CLUSTER)) == 1
