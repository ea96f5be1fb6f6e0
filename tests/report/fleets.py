"""A made fleet: groups of many kinds as rows of tables, of which it is known how they can move."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests import made_tables

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = 10


class Fleet:
    """Groups are added one by one, and written together, as the tables of cluster `c`."""

    def __init__(self) -> None:
        names = ("group_state", "membership", "member_state_timeline", "classic_member", "classic_generation")
        more = ("group_state_timeline", "rebalance", "group_migration", "refused_record", "consumption_stop")
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in (*names, *more, "protocol_comparison", "quarantine", "unknown_record")
        }

    def classic(  # noqa: PLR0913 - what matters of a group
        self,
        group_id: str,
        members: int = 2,
        *,
        mode: str = "eager",
        rebalances: int = 0,
        reason: str | None = None,
        protocol: str | None = "range",
        **columns: Any,
    ) -> None:
        """Add a classic group; `columns`: of its members in `membership` and `classic_member`."""
        group = {"group_id": group_id, "group_type": "classic", "generation": 4, "members": members}
        protocol_type = columns.pop("protocol_type", "consumer")
        of_member = {name: columns.pop(name) for name in ("subscription_error", "user_data_bytes") if name in columns}
        self.rows["group_state"].append(
            group
            | {"protocol_type": protocol_type, "protocol": protocol if members else None, "captured_at": AT}
            | {"state": "Stable" if members else "Empty", "upgradable": reason is None, "upgradable_reason": reason}
        )
        self.rows["group_state_timeline"].append(
            {"group_id": group_id, "group_type": "classic", "state": "Stable", "duration_ms": HOURS * 3_600_000}
        )
        if protocol is not None:
            generation = {"group_id": group_id, "generation": 4, "members": members}
            self.rows["classic_generation"].append(generation | {"protocol": protocol, "mode": mode})
        for nth in range(members):
            stay = {"group_id": group_id, "member_id": f"{group_id}-{nth}", "client_id": f"{group_id}-app-{nth}"}
            stay |= {"client_host": f"/192.0.2.{nth}", "joined_at": AT - timedelta(hours=1), **columns}
            self.rows["membership"].append(stay | {"group_type": "classic", "joined_offset": 1})
            names = ("group_id", "member_id", "client_id", "client_host")
            self.rows["classic_member"].append({name: stay[name] for name in names} | of_member | {"generation": 4})
        for nth in range(rebalances):
            self.rows["rebalance"].append(
                {"group_id": group_id, "group_type": "classic", "outcome": "converged", "started_empty": False}
                | {"began_offset": nth, "partitions_stopped": 6, "history": "observed", "members": members}
                | {"began_at": AT - timedelta(minutes=nth), "duration_ms": 1000}
            )

    def mixed(self, group_id: str, consumers: int, *classic: dict[str, Any]) -> None:
        """Add a consumer group with members of both protocols."""
        members = [{"client_id": f"new-{nth}"} for nth in range(consumers)]
        members += [{"is_classic": True} | each for each in classic]
        group = {"group_id": group_id, "group_type": "consumer", "state": "Stable", "members": len(members)}
        self.rows["group_state"].append(group | {"captured_at": AT})
        for nth, each in enumerate(members):
            stay = {"group_id": group_id, "group_type": "consumer", "member_id": f"m{nth}", "joined_offset": nth}
            columns = {name: value for name, value in each.items() if name != "is_classic"}
            self.rows["membership"].append(stay | {"joined_at": AT - timedelta(hours=2)} | columns)
            state = {"group_id": group_id, "group_type": "consumer", "member_id": f"m{nth}", "state": "reconciled"}
            self.rows["member_state_timeline"].append(state | {"is_classic": each.get("is_classic", False)})

    def write(self, out: Path, cluster: str = "c", **run: Any) -> None:
        made_tables.write(out, cluster, audit_runs=[{"run": 1, "captured_at": AT, **run}], **self.rows)


def large() -> tuple[Fleet, dict[str, set[str]]]:  # noqa: C901 - a kind of group each
    """A fleet of 2,000 classic groups, and which of them have what by the truth."""
    fleet, truth = (
        Fleet(),
        {"canaries": set[str](), "malformed": set[str](), "streams": set[str](), "connect": set[str]()},
    )
    for nth in range(2000):
        kind = nth % 20
        if nth % 200 == 7:
            truth["canaries"].add(f"canary-{nth}")
            fleet.classic(f"canary-{nth}", 2, rebalances=30)
        elif nth % 200 == 8:
            fleet.classic(f"cooperative-{nth}", 2, mode="cooperative", rebalances=31)
        elif kind == 0:
            truth["malformed"].add(f"go-{nth}")
            error = "version 1 ends before ownedPartitions"
            fleet.classic(f"go-{nth}", 3, rebalances=40, reason="malformed_subscription", subscription_error=error)
        elif kind == 1:
            truth["streams"].add(f"streams-{nth}")
            reason = "assignor_user_data, streams_application"
            fleet.classic(f"streams-{nth}", 2, protocol="stream", reason=reason, user_data_bytes=9)
        elif kind == 2:
            truth["connect"].add(f"connect-{nth}")
            fleet.classic(f"connect-{nth}", 2, protocol="compatible", reason="protocol_type", protocol_type="connect")
        elif kind == 3:
            fleet.classic(f"static-{nth}", 2, rebalances=50, instance_id="i")
        elif kind == 4:
            fleet.classic(f"own-{nth}", 2, rebalances=50, protocol="mine")
        elif kind == 5:
            fleet.classic(f"large-{nth}", 8, rebalances=40 if nth % 200 == 5 else 2)
        elif kind == 6:
            fleet.classic(f"empty-{nth}", 0, protocol=None)
        else:
            fleet.classic(f"calm-{nth}", 3, mode="cooperative", rebalances=nth % 3, protocol="cooperative-sticky")
    return fleet, truth
