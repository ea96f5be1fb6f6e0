"""Streams groups of real brokers: what Kafka's Admin said of them several times a second, and what the tables say."""

import pytest

from tests.replay.admin import answer, moments, samples, told

CAPTURES = {"kafka-4.3.1-group-kinds": 336, "kafka-4.3.1-streams-not-ready": 102}


@pytest.mark.parametrize("capture", CAPTURES)
def test_states_epochs_and_tasks_are_those_that_kafka_said(capture: str) -> None:
    said = samples(capture, "Streams")
    assert len(said) == CAPTURES[capture]
    for sample in said:
        found = [told(capture, sample, at) for at in moments(capture, sample)]
        assert answer(sample) in found, sample
