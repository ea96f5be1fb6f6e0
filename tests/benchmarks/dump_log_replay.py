"""What people write today: `kafka-dump-log --offsets-decoder` piped into a loop over its lines, which tells epochs.

It keeps the last value of each key of a group, and of every epoch of every consumer group when it began, when the
target assignment came and when all members had reached it. Run it as `… | python dump_log_replay.py EPOCHS.csv`.
"""

import csv
import json
import sys
from typing import TextIO

EPOCH, MEMBER, ASSIGNED, TARGET, CURRENT = "3", "5", "6", "7", "8"
STABLE = 0


class Group:
    def __init__(self) -> None:
        self.members: dict[str, dict] = {}
        self.targets: dict[str, dict] = {}
        self.current: dict[str, dict] = {}
        self.epochs: dict[int, list[int | None]] = {}
        self.assigned_epoch = 0

    def take(self, kind: str, key: dict, value: dict | None, time: int) -> None:
        if kind == EPOCH:
            if value is not None:
                self.epochs.setdefault(value["epoch"], [time, None, None])
        elif kind == ASSIGNED:
            if value is not None:
                self.assigned_epoch = value["assignmentEpoch"]
                self.epochs.setdefault(self.assigned_epoch, [None, None, None])[1] = time
        else:
            kept = {MEMBER: self.members, TARGET: self.targets, CURRENT: self.current}[kind]
            if value is None:
                kept.pop(key["memberId"], None)
            else:
                kept[key["memberId"]] = value
        if kind in (ASSIGNED, CURRENT):
            self.converge(time)

    def converge(self, time: int) -> None:
        epoch = self.epochs.get(self.assigned_epoch)
        if epoch is None or epoch[2] is not None or self.assigned_epoch != max(self.epochs):
            return
        for member in self.members:
            current = self.current.get(member)
            if current is None or current["memberEpoch"] != self.assigned_epoch or current["state"] != STABLE:
                return
        epoch[2] = time


def replay(lines: TextIO) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for line in lines:
        if not line.startswith("| offset:") or '"type":"1"' in line:
            continue
        head, _, rest = line.partition(" key: ")
        key_text, _, value_text = rest.rstrip("\n").partition(" payload: ")
        key = json.loads(key_text)
        kind = key["type"]
        if kind in (EPOCH, MEMBER, ASSIGNED, TARGET, CURRENT):
            value = None if value_text == "<DELETE>" else json.loads(value_text)["data"]
            time = int(head.split()[4])
            group_id = key["data"]["groupId"]
            groups.setdefault(group_id, Group()).take(kind, key["data"], value, time)
    return groups


def main() -> None:
    groups = replay(sys.stdin)
    with open(sys.argv[1], "w", encoding="utf-8", newline="") as out:  # noqa: PTH123 - as people write it
        rows = csv.writer(out)
        rows.writerow(["group", "epoch", "began", "assigned", "converged"])
        for group_id, group in sorted(groups.items()):
            for epoch, times in sorted(group.epochs.items()):
                rows.writerow([group_id, epoch, *times])


if __name__ == "__main__":
    main()
