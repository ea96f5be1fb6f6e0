"""The names of topics by id, as the tutorial gets them from Kafka's tool."""

import subprocess

from kip848_records.pipeline.names import read_topics_file
from tests.broker.running import OFFSETS
from tests.docs.pages import block


def test_the_names_of_topics_as_the_tutorial_takes_them(broker, topic, tmp_path):
    """The tool is a Java class here, not a script on the PATH: what it prints goes into the rest of the example."""
    printed = broker.command("org.apache.kafka.tools.TopicCommand", "--describe")
    _, _, takes_names = block("test: names of topics").partition("|")
    subprocess.run(["bash", "-ec", takes_names], input=printed, text=True, cwd=tmp_path, check=True)
    names = read_topics_file(str(tmp_path / "topics.json"))
    assert {topic, OFFSETS} <= set(names.values())
    assert {len(topic_id) for topic_id in names} == {22}
