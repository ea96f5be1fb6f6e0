"""Rows of tables for the expectations about single kinds of groups; the replay has tests of its own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kip848_records.expectations.patterns import PATTERNS
from tests.expectations.logs import END, PASS, UNKNOWN, VIOLATION

Tables = dict[str, list[dict[str, Any]]]

_END = datetime.fromtimestamp(END / 1000, UTC)


@dataclass(frozen=True)
class Made:
    """The rows of one group by table, and the verdict of its expectation; `found` is a message of a violation."""

    rule: str
    case: str
    verdict: str | None
    tables: Tables
    found: str | None = None

    @property
    def group(self) -> str:
        return f"{self.rule}: {self.case}"

    def __str__(self) -> str:
        return self.group


def ago(seconds: float) -> datetime:
    return _END - timedelta(seconds=seconds)


def _history(history: str, group_type: str = "classic") -> Tables:
    return {"group_state_timeline": [{"from_at": ago(9000), "group_type": group_type, "history": history}]}


def _generations(count: int, **columns: Any) -> Tables:
    """Generations, one a minute."""
    return {
        "classic_generation": [
            {
                "generation": nth,
                "offset": nth,
                "cause": "member_joined",
                "completed_at": ago(3000 - 60 * nth),
                **columns,
            }
            for nth in range(1, count + 1)
        ]
    }


def _workers(*generations: dict[str, dict[str, Any]], rounds: int | None = 1) -> Tables:
    """The rows of workers, for each generation by their URLs."""
    numbers = range(1, len(generations) + 1)
    return {
        "classic_generation": [{"generation": nth, "rounds": rounds, "cause": "follow_up"} for nth in numbers],
        "connect_assignment": [
            {"generation": nth, "member_id": f"id of {url}", "worker_url": url, **columns}
            for nth, workers in enumerate(generations, 1)
            for url, columns in workers.items()
        ],
    }


def _unit(**columns: Any) -> Tables:
    unit = {"group_type": "classic", "connector": "sink", "task": 0, "from_member": "w", "reason": "worker_left"}
    return {"task_handover": [{**unit, **columns}]}


def _balance(outcome: str, *counts: int) -> Tables:
    running = [
        [{"connector": f"c{nth}", "tasks": list(range(count))}] if count else [] for nth, count in enumerate(counts)
    ]
    workers = {f"w{nth}": {"running": units} for nth, units in enumerate(running)}
    rebalance = {"group_type": "classic", "first_epoch": 1, "last_epoch": 1, "outcome": outcome}
    return {**_workers(workers), "rebalance": [rebalance]}


def _not_ready(state: str, seconds: int) -> Tables:
    return {
        "group_state_timeline": [
            {"from_at": ago(seconds), "group_type": "streams", "state": state, "history": "observed"}
        ]
    }


def _topology(lag_ms: int | None, history: str) -> Tables:
    row = {"group_type": "streams", "member_id": "m", "topology_epoch": 3, "topology_lag_ms": lag_ms}
    return {"membership": [{**row, "history": history}]}


def _taken_over(count: int, **columns: Any) -> Tables:
    """Tasks that get another owner, one a minute."""
    task = {"group_type": "streams", "subtopology_id": "0", "status": "acquired", "from_member": "a", "to_member": "b"}
    rows = [{**task, "task": nth, "acquired_at": ago(3000 - 60 * nth), **columns} for nth in range(count)]
    return {"task_handover": rows}


def _standbys(standby: int, *, has_changelogs: bool | None) -> Tables:
    """A group of two processes with one active task, and a standby of one task."""
    tasks = [("a", "active", 0), ("b", "standby", standby)]
    owned = {"group_type": "streams", "subtopology_id": "0", "has_changelogs": has_changelogs}
    return {
        "group_state": [{"group_type": "streams", "state": "Stable", "standby_replicas": 1}],
        "membership": [{"group_type": "streams", "member_id": name, "process_id": name} for name in "ab"],
        "ownership": [{**owned, "member_id": name, "role": role, "partition": task} for name, role, task in tasks],
    }


def _shared(seconds: int, history: str = "right_censored", partitions: Sequence[int] = (0, 1)) -> Tables:
    """Initialized partitions, of which a member has the first, and had the second."""
    state = {
        "topic_id": "t",
        "topic": "orders",
        "state": "initialized",
        "partitions": [*partitions],
        "history": history,
    }
    owned = {"group_type": "share", "member_id": "m", "topic_id": "t", "topic": "orders", "from_at": ago(5000)}
    return {
        "share_partition_state": [{**state, "from_at": ago(6000)}],
        "membership": [{"group_type": "share", "member_id": "m", "topics": ["orders"]}],
        "ownership": [{**owned, "partition": 0}, {**owned, "partition": 1, "to_at": ago(seconds)}],
    }


def _type_of(pattern: str) -> str:
    """The type of a group that can have a pattern."""
    return "classic" if pattern == "assignment_not_applied" else "consumer"


def _trouble(pattern: str, *, severity: str = "warning", ended: float | None = None, **columns: Any) -> Tables:
    """A trouble over time: a present one, or one that ended so many seconds ago."""
    row = {
        "partition": 0,
        "pattern": pattern,
        "severity": severity,
        "sentence": "It fails.",
        "next_step": "Mend it.",
        "evidence": [3, 7],
    }
    row |= {
        "is_present": ended is None,
        "ended_at": None if ended is None else ago(ended),
        "subject": {"groups": ["g"]},
    }
    return {"diagnosis": [row | columns], **_history("observed", _type_of(pattern))}


def _of_pattern(pattern: str) -> list[Made]:
    """What an expectation says of groups that have a trouble, have none, or can have none."""
    able = {"membership": [{"instance_id": "i", "member_id": "m"}], "connect_assignment": [{"member_id": "m"}]}
    able |= _generations(1, protocol_type="consumer", error=0, warm_ups=[])
    clean = able | _history("observed", _type_of(pattern))
    of_members = {"static_member_flaps", "duplicate_instance_id"}
    of_a_kind = {"slow_by_habit", "coordinator_silent", "flapping_topics", "assignor_flip", "no_topic", "task_restarts"}
    of_a_kind |= {"assignment_not_applied", "configurations_differ", "endless_warm_ups", "assignment_error"}
    is_for_all = pattern not in of_members | of_a_kind
    return [
        Made(pattern, "none", PASS, clean),
        Made(
            pattern,
            "of another kind",
            PASS if is_for_all else None,
            _history("observed", "streams" if pattern in {"flapping_topics", "assignor_flip", "no_topic"} else "share"),
        ),
        Made(pattern, "present", VIOLATION, _trouble(pattern), "It fails. Mend it."),
        Made(
            pattern,
            "an hour ago",
            VIOLATION,
            _trouble(pattern, ended=3600),
            "It fails. Mend it. It ended 1 h before the capture.",
        ),
        Made(pattern, "two days ago", PASS, able | _trouble(pattern, ended=172_800)),
        Made(pattern, "no alarm", PASS, able | _trouble(pattern, severity="info")),
        Made(pattern, "explained", PASS, able | _trouble(pattern, explained_by="storm")),
        Made(pattern, "short history", UNKNOWN, able | _history("left_censored", _type_of(pattern))),
    ]


OF_THE_LOG = {"storm_across", "offsets_topic_grew", "group_in_two_partitions"}
OF_A_GROUP = {each.name for each in PATTERNS if not each.needs} - OF_THE_LOG
_LAGS = "expected worker w to have read the configuration to offset 9, it joined with 7"
_CURRENT, _BEHIND = {"config_offset": 9, "worker_config_offset": 9}, {"config_offset": 9, "worker_config_offset": 7}
_DELAYED, _CALM = {"delay_ms": 8000}, {"delay_ms": 0}


def _classic(**columns: Any) -> Tables:
    """A classic group of consumers with members, as its last record has it."""
    group = {"group_type": "classic", "protocol_type": "consumer", "protocol": "range", "members": 2}
    names = ("membership", "member_state_timeline", "classic_member", "classic_generation", "group_state_timeline")
    more = ("rebalance", "consumption_stop", "diagnosis", "group_migration", "refused_record")
    return {**{name: [] for name in (*names, *more)}, "group_state": [group | columns]}


def _half_way(*protocols: list[str] | None) -> Tables:
    """A consumer group with a consumer member, and a classic one for each list of assignors."""
    member = {"group_type": "consumer", "joined_offset": 1}
    state = {"group_type": "consumer", "state": "reconciled"}
    return {
        "group_state": [{"group_type": "consumer"}],
        "membership": [
            member | {"member_id": "new"},
            *(
                member | {"member_id": f"m{nth}", "joined_offset": 2 + nth, "classic_protocols": each}
                for nth, each in enumerate(protocols)
            ),
        ],
        "member_state_timeline": [
            state | {"member_id": "new", "is_classic": False, "from_offset": 1},
            *(
                state | {"member_id": f"m{nth}", "is_classic": True, "from_offset": 2 + nth}
                for nth in range(len(protocols))
            ),
        ],
    }


CASES = [
    *(case for each in PATTERNS if each.name in OF_A_GROUP for case in _of_pattern(each.name)),
    Made("no_common_protocol", "range", PASS, _half_way(["range", "sticky"], ["range"])),
    Made("no_common_protocol", "lost", UNKNOWN, _half_way(["range"], None)),
    Made("no_common_protocol", "all lost", UNKNOWN, _half_way(None)),
    Made("no_common_protocol", "all have moved", None, _half_way()),
    Made(
        "no_common_protocol",
        "two",
        VIOLATION,
        _half_way(["range"], ["mine", "mine"], None),
        "expected the 3 members with the classic protocol to have an assignor in common, no more than 1 of 2 have the "
        "same of mine, range: if the last consumer member leaves, that fails, and the group does not go back",
    ),
    Made(
        "no_common_protocol",
        "none",
        VIOLATION,
        _half_way([]),
        "expected the 1 member with the classic protocol to have an assignor in common, none has any: if the last "
        "consumer member leaves, that fails, and the group does not go back",
    ),
    Made("upgradable", "online", PASS, _classic(upgradable=True)),
    Made("upgradable", "unreadable", UNKNOWN, _classic()),
    Made(
        "upgradable",
        "malformed",
        VIOLATION,
        _classic(upgradable=False, upgradable_reason="malformed_subscription"),
        "expected that the group can move to the consumer protocol now, seen: can move once all members have stopped "
        "(after_stop: malformed_subscription)",
    ),
    Made(
        "aborted_rounds",
        "many",
        VIOLATION,
        _generations(1, rounds=8),
        "expected at most 5 generations without an assignment before this one, seen 7",
    ),
    Made("aborted_rounds", "few", PASS, _generations(1, rounds=6)),
    Made("aborted_rounds", "unseen", UNKNOWN, _generations(1)),
    Made(
        "sync_time",
        "slow",
        VIOLATION,
        _generations(1, sync_ms=12_500, leader="ann"),
        "expected the assignment within 10 s, leader ann took 12.5 s",
    ),
    Made("sync_time", "quick", PASS, _generations(1, sync_ms=10_000)),
    Made("sync_time", "unseen", UNKNOWN, _generations(1)),
    # Such a generation had no round in which members joined and a leader assigned.
    *(
        Made(rule, cause, None, _generations(1, cause=cause, rounds=8, sync_ms=12_500))
        for rule in ("aborted_rounds", "sync_time")
        for cause in ("created", "emptied", "downgraded")
    ),
    Made(
        "eager_rebalances",
        "many",
        VIOLATION,
        {
            **_generations(4, mode="eager", protocol_type="consumer", units=51),
            "group_state": [{"group_type": "classic", "upgradable": True}],
        },
        "expected at most 3 rebalances that stop all partitions in an hour, seen 4 of 51 partitions; "
        "the group can be upgraded to the consumer protocol",
    ),
    Made(
        "eager_rebalances",
        "few",
        PASS,
        {**_generations(3, mode="eager", protocol_type="consumer", units=51), **_history("observed")},
    ),
    Made(
        "eager_rebalances",
        "few are left",
        UNKNOWN,
        {**_generations(3, mode="eager", protocol_type="consumer", units=51), **_history("left_censored")},
    ),
    Made(
        "eager_rebalances", "no evidence", UNKNOWN, _generations(4, mode="unknown", protocol_type="consumer", units=51)
    ),
    Made(
        "connect_task_running",
        "long",
        VIOLATION,
        _unit(status="open", released_at=ago(700), history="right_censored"),
        "expected sink task 0 to run again within 10 min, has had no worker for ≥ 11 min 40 s (worker_left)",
    ),
    Made(
        "connect_task_running",
        "will be long",
        VIOLATION,
        _unit(status="open", released_at=ago(10), expected_at=ago(-3590), history="right_censored"),
        "expected sink task 0 to run again within 10 min, has had no worker for ≥ 1 h (worker_left)",
    ),
    Made("connect_task_running", "short", PASS, _unit(status="acquired", unowned_ms=600_000, history="observed")),
    Made(
        "connect_task_running", "cleaned", UNKNOWN, _unit(status="open", released_at=ago(700), history="left_censored")
    ),
    Made(
        "connect_task_running",
        "revoked, perhaps long",
        UNKNOWN,
        _unit(status="acquired", unowned_ms=4, unowned_max_ms=700_000, history="observed"),
    ),
    Made(
        "connect_task_running",
        "revoked and open",
        UNKNOWN,
        _unit(status="open", unowned_max_ms=700_000, reason="revoked", history="right_censored"),
    ),
    Made(
        "connect_delay",
        "long",
        VIOLATION,
        _workers({"w": {"delay_ms": 400_000}}),
        "expected a delay of at most 5 min, seen 6 min 40 s",
    ),
    Made(
        "connect_delay",
        "twice",
        VIOLATION,
        _workers({"v": _CALM, "w": _CALM}, {"v": _DELAYED}, {"v": _CALM, "w": _CALM}, {"v": _DELAYED}),
        "expected other workers to be lost after w, it was lost twice in a row",
    ),
    Made(
        "connect_delay",
        "two workers",
        PASS,
        _workers({"v": _CALM, "w": _CALM}, {"v": _DELAYED}, {"v": _CALM, "w": _CALM}, {"w": _DELAYED}),
    ),
    Made("connect_delay", "unread", UNKNOWN, _workers({"w": {"delay_ms": None}})),
    Made(
        "connect_config_lag",
        "twice",
        VIOLATION,
        _workers({"w": _BEHIND}, {"w": _BEHIND}),
        f"{_LAGS} (generations: 1, the last one 2)",
    ),
    Made(
        "connect_config_lag",
        "often, told once",
        VIOLATION,
        _workers(*[{"w": _BEHIND}] * 30),
        f"{_LAGS} (generations: 29, the last one 30)",
    ),
    Made("connect_config_lag", "once", PASS, _workers({"w": _CURRENT}, {"w": _BEHIND}, {"w": _CURRENT})),
    Made("connect_config_lag", "unread", UNKNOWN, _workers({"w": {}})),
    Made("connect_config_lag", "one is not in the log", UNKNOWN, _workers({"w": _BEHIND}, rounds=None)),
    Made(
        "connect_balance",
        "uneven",
        VIOLATION,
        _balance("converged", 1, 6),
        "expected workers to differ by at most 20 % of 7 units, seen 1 to 6",
    ),
    Made("connect_balance", "a connector and its task", PASS, _balance("converged", 0, 2)),
    Made(
        "connect_balance",
        "unread",
        UNKNOWN,
        {
            "connect_assignment": [
                *_balance("converged", 9)["connect_assignment"],
                {"generation": 1, "member_id": "unread", "quarantine_reason": "bytes"},
            ],
            "rebalance": _balance("converged", 9)["rebalance"],
        },
    ),
    Made("connect_balance", "ongoing", UNKNOWN, _balance("open", 1, 6)),
    Made("connect_balance", "a follow-up may be lost", UNKNOWN, _balance("unknown", 1, 6)),
    Made(
        "streams_ready",
        "not",
        VIOLATION,
        _not_ready("NotReady", 301),
        "expected the topology to be validated within 5 min, NotReady for ≥ 5 min 1 s",
    ),
    Made("streams_ready", "soon", PASS, _not_ready("NotReady", 299)),
    Made("streams_ready", "before 4.2", UNKNOWN, _not_ready("unknown", 301)),
    Made(
        "streams_topology_epoch",
        "old",
        VIOLATION,
        _topology(901_000, "right_censored"),
        "expected the topology of the group within 15 min, an older one for ≥ 15 min 1 s, its last topology epoch: 3",
    ),
    Made("streams_topology_epoch", "restarted soon", PASS, _topology(900_000, "observed")),
    Made("streams_topology_epoch", "no topology in the log", UNKNOWN, _topology(None, "observed")),
    Made("streams_topology_epoch", "cleaned", UNKNOWN, _topology(10, "left_censored")),
    Made(
        "streams_cold_handover",
        "many",
        VIOLATION,
        _taken_over(4, was_warm=False, has_changelogs=True),
        "expected at most 3 tasks without their state in an hour, seen 4",
    ),
    Made(
        "streams_cold_handover",
        "warm",
        PASS,
        {**_taken_over(4, was_warm=True, has_changelogs=True), **_history("observed")},
    ),
    Made(
        "streams_cold_handover",
        "without state",
        PASS,
        {**_taken_over(4, was_warm=False, has_changelogs=False), **_history("observed")},
    ),
    Made(
        "streams_cold_handover",
        "cleaned",
        UNKNOWN,
        {**_taken_over(4, was_warm=True, has_changelogs=True), **_history("left_censored")},
    ),
    Made("streams_cold_handover", "unseen", UNKNOWN, _taken_over(4, was_warm=False)),
    Made(
        "streams_standby",
        "none",
        VIOLATION,
        _standbys(1, has_changelogs=True),
        "expected a standby for each task with state, 1 have none",
    ),
    Made("streams_standby", "one", PASS, _standbys(0, has_changelogs=True)),
    Made(
        "streams_standby",
        "one process",
        None,
        _standbys(1, has_changelogs=True)
        | {"membership": [{"group_type": "streams", "member_id": name, "process_id": "p"} for name in "ab"]},
    ),
    Made("streams_standby", "no topology", UNKNOWN, _standbys(1, has_changelogs=None)),
    Made(
        "share_partition_assigned",
        "long without",
        VIOLATION,
        _shared(301),
        "expected orders 1 to have a member within 5 min, has had none for ≥ 5 min 1 s",
    ),
    Made(
        "share_partition_assigned",
        "has just subscribed",
        PASS,
        {**_shared(3000), "membership": [{**_shared(0)["membership"][0], "joined_at": ago(2)}]},
    ),
    Made("share_partition_assigned", "shortly without", PASS, _shared(300)),
    Made("share_partition_assigned", "compacted", UNKNOWN, _shared(300, "left_censored", [1])),
    Made("share_partition_assigned", "each has a member", PASS, _shared(300, "left_censored", [0])),
    *(
        Made(
            "downgraded",
            str(joined_how),
            VIOLATION,
            {
                "group_migration": [{"direction": "downgrade", "epoch": 7, "at": ago(5), "offset": 3}],
                "membership": [{"group_type": "classic", "joined_offset": 3, "joined_how": joined_how}],
            },
            f"expected the group to keep the consumer protocol, but it went back: {because}",
        )
        for joined_how, because in (
            ("downgraded", "the last consumer member left"),
            ("replaced", "a classic member took the place of a static one"),
            (None, "the log does not show why"),
        )
    ),
    Made("downgraded", "never", PASS, _history("observed")),
    Made("downgraded", "cleaned", UNKNOWN, _history("left_censored")),
]


def tables() -> Tables:
    """The rows of all cases, each in the group of its case."""
    found: Tables = defaultdict(list)
    for case in CASES:
        for name, rows in case.tables.items():
            found[name] += [{**row, "group_id": case.group} for row in rows]
    return found
