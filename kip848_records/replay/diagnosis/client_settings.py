"""What to change in a client, and where: Streams and Connect set what a plain consumer sets under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, CONSUMER, STREAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.diagnosis.episodes import Episode

_SINK: Final = "sink"
_SINK_NAME: Final = "connector-consumer-"
"""How the client ids of sink tasks begin: `Worker` of Kafka Connect sets them."""
_STREAM_THREAD: Final = "-StreamThread-"
"""What the client ids of Streams contain, in classic groups too: `StreamThread` sets them."""

_POLL: Final[Mapping[str, str]] = {
    CONSUMER: "Java: lower max.poll.records, raise max.poll.interval.ms, or call pause() and process in another "
    "thread. librdkafka: raise max.poll.interval.ms.",
    STREAMS: "In the configuration of Streams, lower main.consumer.max.poll.records or raise "
    "main.consumer.max.poll.interval.ms. Look for slow calls in its processors; more threads (num.stream.threads) or "
    "processes leave fewer tasks to each.",
    _SINK: "In the connector's configuration, lower consumer.override.max.poll.records or raise "
    "consumer.override.max.poll.interval.ms; tasks.max up to the number of partitions leaves fewer to each task. Look "
    "for what makes put() of the sink slow.",
}
_REVOKE: Final[Mapping[str, str]] = {
    CONSUMER: "Do less in onPartitionsRevoked, and lower max.poll.records: revocation waits for the batch.",
    STREAMS: "A thread first finishes its batch and commits: lower main.consumer.max.poll.records, and look for slow "
    "calls in its processors.",
    _SINK: "A task first finishes put() and flushes: lower consumer.override.max.poll.records in the connector's "
    "configuration, and do less in flush() and close() of the sink.",
}
_FEWER: Final[Mapping[str, str]] = {
    CONSUMER: "Nothing, if they are meant as spares. Else run fewer members, or add partitions.",
    STREAMS: "Nothing, if they are meant as spares. Else lower num.stream.threads, or add partitions.",
    _SINK: "Nothing, if they are meant as spares. Else lower tasks.max of the connector, or add partitions.",
}
_CONTAINER: Final = "the exit code of the container: 137 means killed (SIGKILL), often for lack of memory"
_RESTART: Final[Mapping[str, str]] = {
    CONSUMER: f"Read its log at {{at}} and {_CONTAINER}. A liveness probe that is shorter than a batch kills processes "
    "that work well.",
    STREAMS: f"Read its log at {{at}} and {_CONTAINER}. If its uncaught exception handler answers REPLACE_THREAD, the "
    "process lives, and a thread fails.",
    _SINK: "Read the worker's log at {at}, and the trace of the task in the connector's status (REST): a task that "
    "fails stays failed until a person or a tool restarts it.",
    CONNECT: f"Read the worker's log at {{at}} and {_CONTAINER}. If it says that the worker's poll timeout expired, "
    "the worker lives: raise rebalance.timeout.ms, or add workers.",
}
_HEARTBEATS: Final[Mapping[str, str]] = {
    CONSUMER: "Look at its CPU limits and garbage collection at {at}, and for unsubscribe() in its code.",
    STREAMS: "Look at its CPU limits and garbage collection at {at}, and in its log for TaskMigratedException: the "
    "thread joins again after it.",
    _SINK: "Look at the worker's CPU limits and garbage collection at {at}.",
}


def poll_step(episode: Episode) -> str:
    """Return what to do about polls that come too late."""
    return _of(_POLL, episode)


def revoke_step(episode: Episode) -> str:
    """Return what to do about revocations that take long."""
    return _of(_REVOKE, episode)


def fewer_step(episode: Episode) -> str:
    """Return what to do about members that have nothing, not even copies of tasks as far as the log shows."""
    undecoded = episode.facts.get("undecoded")
    if undecoded is None:
        return _of(_FEWER, episode)
    return f"{_of(_FEWER, episode)} They may have standby tasks: {undecoded}, so the log does not show them."


def restart_step(episode: Episode, at: str) -> str:
    """Return what to look at if a process does not stay; `at`: the time of its last end."""
    return _of(_RESTART, episode).format(at=at)


def heartbeats_step(episode: Episode, at: str) -> str:
    """Return what to look at if a member's heartbeats are lost; `at`: when it was last so."""
    return _of(_HEARTBEATS, episode).format(at=at)


def _of(steps: Mapping[str, str], episode: Episode) -> str:
    return steps.get(_program(episode), steps[CONSUMER])


def _program(episode: Episode) -> str:
    """Return what runs the client: by the kind of its group, or by its client id."""
    subject = episode.subject
    client_id = subject.client_id or next(iter(subject.clients or ()), "")
    if client_id.startswith(_SINK_NAME):
        return _SINK
    return STREAMS if _STREAM_THREAD in client_id else episode.kind
