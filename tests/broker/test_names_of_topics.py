"""The names of topics by id, as the tutorial gets them from Kafka's tool."""

import os
import subprocess

from kip848_records.pipeline.names import read_topics_file
from tests.broker.running import OFFSETS
from tests.docs.pages import block


def test_the_names_of_topics_as_the_tutorial_takes_them(broker, topic, tmp_path):
    """The tool is a Java class here, and the broker has another port: a script prints what the tool printed."""
    printed = broker.command("org.apache.kafka.tools.TopicCommand", "--describe")
    (tmp_path / "printed").write_text(printed)
    script = tmp_path / "kafka-topics.sh"
    script.write_text('#!/bin/sh\n[ "$*" = "--bootstrap-server localhost:9092 --describe" ] && cat printed\n')
    script.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    example = ["bash", "-ec", block("test: names of topics")]
    subprocess.run(example, cwd=tmp_path, env=os.environ | {"PATH": path}, check=True)
    names = read_topics_file(str(tmp_path / "topics.json"))
    assert {topic, OFFSETS} <= set(names.values())
    assert {len(topic_id) for topic_id in names} == {22}
