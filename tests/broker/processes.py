"""Consumers that are processes of their own: one that is killed again and again, and one of Kafka's own client."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer

from tests.broker.process import Daemon
from tests.broker.running import Broker

_SLOW_CONSUMER = Path(__file__).with_name("SlowConsumer.java")


def crash_again_and_again(settings: Mapping[str, str], topic: str, *, times: int, stay: float, pause: float) -> None:
    """Start a consumer, kill it after `stay` seconds, and start the next one after `pause` seconds, so many times."""
    command = [sys.executable, "-m", __name__, json.dumps(dict(settings)), topic]
    for number in range(times):
        if number:
            time.sleep(pause)
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            time.sleep(stay)
            process.kill()


@contextmanager
def slow_consumer(
    broker: Broker, settings: Mapping[str, str], topic: str, record_ms: int, folder: Path
) -> Iterator[Daemon]:
    """Run Kafka's own consumer, which takes so long for each record; `settings` are Java's. It is killed at the end."""
    file = folder / f"{settings['client.id']}.properties"
    lines = {"bootstrap.servers": broker.bootstrap, **settings}
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    program = [str(_SLOW_CONSUMER), str(file), topic, str(record_ms)]
    daemon = Daemon(broker.class_path, ["-Xmx128m"], program, file.with_suffix(".log"))
    try:
        yield daemon
        if daemon.ended():
            raise RuntimeError(f"the consumer ended:\n{daemon.log.read_text()[-4000:]}")
    finally:
        daemon.stop(hard=True)


def _end_with_the_tests() -> None:
    """Their end of the pipe is closed when they are gone, however they ended."""
    sys.stdin.read()
    os._exit(1)


def _consume(settings: str, topic: str) -> None:
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    consumer = Consumer(json.loads(settings))
    consumer.subscribe([topic])
    while True:
        consumer.poll(0.5)


if __name__ == "__main__":
    _consume(*sys.argv[1:])
