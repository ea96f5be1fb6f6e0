"""Groups of real brokers: what Kafka's Admin said of them several times a second, and what the tables say."""

import pytest

from tests.replay.admin import answer, moments, samples, told

SAMPLES = {
    ("kafka-4.3.1-group-kinds", "Streams"): 336,
    ("kafka-4.3.1-group-kinds", "Share"): 644,
    ("kafka-4.3.1-streams-not-ready", "Streams"): 102,
}


@pytest.mark.parametrize(("capture", "group_type"), SAMPLES)
def test_states_epochs_and_what_members_have_are_what_kafka_said(capture: str, group_type: str) -> None:
    said = samples(capture, group_type)
    assert len(said) == SAMPLES[capture, group_type]
    for sample in said:
        found = [told(capture, sample, at) for at in moments(capture, sample)]
        assert answer(sample) in found, sample
