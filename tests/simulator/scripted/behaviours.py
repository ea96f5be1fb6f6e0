"""What processes do: scripts that scenes put together. Each yields the ms that it waits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.simulator.scripted.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.simulator.scripted.script import Script

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"

Range = tuple[float, float]


def new_host(group: Script) -> str:
    """Return an address that no other process has."""
    return "/10." + ".".join(str(group.rng.randint(1, 254)) for _ in range(3))


def pod_name(group: Script, application: str, version: str) -> str:
    """Return the name of a new pod of a Deployment."""
    return f"{application}-{version}-{''.join(group.rng.choices(_LETTERS, k=5))}"


def fleet(
    group: Script,
    size: int,
    client_id: str = "payments",
    within: int = 20 * SECOND,
    **fields: Any,
) -> list[Process]:
    """Start processes of one application, each at an address of its own unless `host` says one for all."""
    found = []
    for number in range(size):
        own = {"host": new_host(group)} | {
            name: value(number) if callable(value) else value for name, value in fields.items()
        }
        process = Process(client_id, **own)
        found.append(process)
        group.at(group.now + group.rng.randint(1, within), partial(group.start, process))
    return found


def some(group: Script, between: Range) -> int:
    """Return a time between two numbers of seconds, in ms."""
    return round(1000 * group.rng.uniform(*between))


def restart(group: Script, process: Process, down: Range, *, kills: bool = False) -> Iterator[int]:
    """End a process, and start it again after some seconds."""
    (group.kill if kills else group.stop)(process)
    yield some(group, down)
    group.start(process)


def restart_again(  # noqa: PLR0913
    group: Script, process: Process, times: int, lives: Range, down: Range, *, kills: bool = False, ends: bool = True
) -> Iterator[int]:
    """Let a process end, and start again, so many times; `ends`: after that it lives on."""
    for number in range(times):
        yield from restart(group, process, down, kills=kills)
        if ends or number < times - 1:
            yield some(group, lives)


def rejoin_again(group: Script, process: Process, times: int, stays: Range, away: Range) -> Iterator[int]:
    """Let a process leave and join again, so many times, without ending."""
    for _ in range(times):
        group.stop(process)
        yield some(group, away)
        group.start(process, returns=True)
        yield some(group, stays)


def roll(
    group: Script,
    old: Sequence[Process],
    between: Range,
    new_name: Callable[[Process], tuple[str, str]] | None = None,
    *,
    new_first: bool = False,
) -> Iterator[int]:
    """Replace processes one after another: by others of `new_name` (client id and host), else by themselves.

    `new_first`: each successor starts before its predecessor ends.
    """
    for process in old:
        if new_name is None:
            yield from restart(group, process, between)
        else:
            client_id, host = new_name(process)
            successor = Process(client_id, host, process.topics, process.regex, process.instance_id)
            if new_first:
                group.start(successor)
                yield some(group, between)
                group.stop(process)
            else:
                group.stop(process)
                yield some(group, between)
                group.start(successor)
        yield some(group, between)


def run_by_timetable(  # noqa: PLR0913, PLR0917
    group: Script, processes: Sequence[Process], runs: int, period: int, lives: Range, late: Range = (0, 5)
) -> Iterator[int]:
    """Let processes run together once a period (ms); each run starts up to some seconds late."""
    begin = group.now
    for number in range(runs):
        yield max(0, begin + number * period + some(group, late) - group.now)
        for process in processes:
            group.start(process)
        yield some(group, lives)
        for process in processes:
            group.stop(process)
