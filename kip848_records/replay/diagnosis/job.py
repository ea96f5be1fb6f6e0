"""The pattern `job`: a group that has members at the times of a timetable."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, SECOND
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory, Run
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.stays import Stay

PATTERN: Final = "job"
_REMEMBERED: Final = 50
_NEAR_END: Final = 60 * SECOND


@dataclass(frozen=True, eq=False)
class Job:
    """Runs by a timetable: its period (ms), its runs, when it was recognised, and when it ended (None: it has not)."""

    period: int
    runs: Sequence[Run]
    recognized_at: int
    ended_at: int | None

    @cached_property
    def _begins(self) -> list[int]:
        return [run.began_at for run in self.runs]

    def is_run(self, stay: Stay) -> bool:
        """Return whether a stay is one of the processes of a run, and not one that came and went within it."""
        if stay.joined_at is None or stay.left_at is None:
            return False
        place = bisect_right(self._begins, stay.joined_at) - 1
        if place < 0:
            return False
        run = self.runs[place]
        if run.ended_at is None or stay.joined_at > run.ended_at:
            return False
        return stay.left_at >= run.ended_at - _NEAR_END or stay.length * 2 >= run.ended_at - run.began_at


def jobs(history: GroupHistory) -> list[Job]:
    """Return the timetables that a group's runs keep, one after another."""
    limits, runs = history.limits, history.runs
    needed = limits.job_runs + (history.known_since is not None)
    found: list[Job] = []
    first = 0
    known: tuple[int, int] | None = None  # the period, and when it was recognised
    for number, run in enumerate(runs):
        if known is not None:
            end = _end(known[0], runs[max(first, number - _REMEMBERED) : number])
            if run.began_at <= end:
                continue
            found.append(Job(known[0], runs[first:number], known[1], end))
            known, first = None, number
        if number - first + 1 < needed:
            continue
        begin = max(first, number + 1 - _REMEMBERED)
        period = _period(runs[begin : number + 1], limits)
        if period is not None:
            known, first = (period, run.began_at), begin
    if known is not None:
        end = _end(known[0], runs[max(first, len(runs) - _REMEMBERED) :])
        is_over = runs[-1].ended_at is not None and end < history.captured_at
        found.append(Job(known[0], runs[first:], known[1], end if is_over else None))
    # Four starts at random may look like a timetable; later ones show it.
    return [job for job in found if _period(job.runs, limits) is not None]


def _end(period: int, runs: Sequence[Run]) -> int:
    """Return when two periods and a run have passed since the last start of some runs."""
    lengths = [run.ended_at - run.began_at for run in runs if run.ended_at is not None]
    return int(runs[-1].began_at + 2 * period + (median(lengths) if lengths else 0))


def _period(runs: Sequence[Run], limits: Limits) -> int | None:
    """Return the period of the starts of some runs, in ms; None if they keep no timetable."""
    starts = [run.began_at for run in runs]
    gap = median(later - start for start, later in pairwise(starts))
    unit = HOUR if gap > limits.job_daily else MINUTE
    period = round(gap / unit) * unit
    lengths = [run.ended_at - run.began_at for run in runs if run.ended_at is not None]
    if not period or not lengths or median(lengths) >= limits.job_run_share * period:
        return None
    first = starts[0]
    phases = [(start - first + period // 2) % period - period // 2 for start in starts]
    middle = median(phases)
    around = [(phase - middle + period // 2) % period - period // 2 for phase in phases]
    allowed = min(
        max(limits.job_phase, limits.job_phase_share * period),
        limits.job_longest_phase_share * period,
        limits.job_longest_phase,
    )
    return period if sum(abs(each) <= allowed for each in around) >= limits.job_share * len(starts) else None


def job_episode(job: Job, history: GroupHistory) -> Episode:
    """Return the episode of a timetable."""
    lengths = [run.ended_at - run.began_at for run in job.runs if run.ended_at is not None]
    began = {run.began_at for run in job.runs}
    stays = [stay for stay in history.stays if stay.joined_at in began]
    return Episode(
        PATTERN,
        INFO,
        Subject(what=stays[-1].normalised if stays else None),
        len(job.runs),
        job.runs[0].began_at,
        job.runs[-1].began_at,
        job.recognized_at,
        job.ended_at,
        stays[-1].incarnation if stays else history.newest_incarnation,
        probable_cause="timetable",
        median_interval_ms=job.period,
        usual_stay_ms=int(median(lengths)) if lengths else None,
        evidence=some_offsets(stay.joined_offset for stay in stays if stay.joined_offset is not None),
        members=frozenset(),
    )
