"""The pattern `job`: a group that has members at the times of a timetable."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, SECOND, PatternSettings, counted
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import interval
from kip848_records.replay.diagnosis.severity import INFO
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.intervals import Interval
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay

_REMEMBERED: Final = 50
_NEAR: Final = 60 * SECOND

_JOB_SHARE: Final = 0.8
_JOB_PHASE: Final = 30 * SECOND
_JOB_PHASE_SHARE: Final = 0.05
_JOB_LONGEST_PHASE_SHARE: Final = 0.1
"""With 30 s on both sides, any start fits a period of a minute."""
_JOB_LONGEST_PHASE: Final = 30 * MINUTE
_JOB_DAILY: Final = 20 * HOUR
_JOB_RUN_SHARE: Final = 0.95


class Settings(PatternSettings, pattern="job"):
    """The limits of `job` that users may change."""

    runs = counted(4, "runs", "Three starts fit a timetable by chance, four hardly.", least=3)


@dataclass(frozen=True, eq=False)
class Job:
    """Runs by a timetable: its period (ms), its runs, when it was recognised, and when it ended (None: it has not)."""

    period: int
    runs: Sequence[Interval]
    recognized_at: int
    ended_at: int | None

    @cached_property
    def _begins(self) -> list[int]:
        return [run.begin for run in self.runs]

    def is_run(self, stay: Stay) -> bool:
        """Return whether a stay is one of the processes of a run, and not one that came and went within it."""
        if stay.joined_at is None or stay.left_at is None:
            return False
        place = bisect_right(self._begins, stay.joined_at) - 1
        if place < 0:
            return False
        run = self.runs[place]
        if run.end is None or stay.joined_at > run.end:
            return False
        return (
            stay.joined_at <= run.begin + _NEAR
            or stay.left_at >= run.end - _NEAR
            or stay.length * 2 >= run.end - run.begin
        )


def jobs(history: GroupHistory) -> list[Job]:
    """Return the timetables that a group's runs keep, one after another."""
    runs = history.runs
    needed = history.limits[Settings.runs] + (history.known_since is not None)
    found: list[Job] = []
    first = 0
    known: tuple[int, int] | None = None  # the period, and when it was recognised
    for number, run in enumerate(runs):
        if known is not None:
            end = _end(known[0], runs[max(first, number - _REMEMBERED) : number])
            if run.begin <= end:
                continue
            found.append(Job(known[0], runs[first:number], known[1], end))
            known, first = None, number
        if number - first + 1 < needed:
            continue
        begin = max(first, number + 1 - _REMEMBERED)
        period = _period(runs[begin : number + 1])
        if period is not None:
            known, first = (period, run.begin), begin
    if known is not None:
        end = _end(known[0], runs[max(first, len(runs) - _REMEMBERED) :])
        is_over = runs[-1].end is not None and end < history.captured_at
        found.append(Job(known[0], runs[first:], known[1], end if is_over else None))
    # Four starts at random may look like a timetable; later ones show it.
    return [job for job in found if _period(job.runs) is not None]


def _end(period: int, runs: Sequence[Interval]) -> int:
    """Return when two periods and a run have passed since the last start of some runs."""
    lengths = [run.end - run.begin for run in runs if run.end is not None]
    return int(runs[-1].begin + 2 * period + (median(lengths) if lengths else 0))


def _period(runs: Sequence[Interval]) -> int | None:
    """Return the period of the starts of some runs, in ms; None if they keep no timetable."""
    starts = [run.begin for run in runs]
    gap = median(later - start for start, later in pairwise(starts))
    unit = HOUR if gap > _JOB_DAILY else MINUTE
    period = round(gap / unit) * unit
    lengths = [run.end - run.begin for run in runs if run.end is not None]
    if not period or not lengths or median(lengths) >= _JOB_RUN_SHARE * period:
        return None
    first = starts[0]
    phases = [(start - first + period // 2) % period - period // 2 for start in starts]
    middle = median(phases)
    around = [(phase - middle + period // 2) % period - period // 2 for phase in phases]
    allowed = min(
        max(_JOB_PHASE, _JOB_PHASE_SHARE * period),
        _JOB_LONGEST_PHASE_SHARE * period,
        _JOB_LONGEST_PHASE,
    )
    return period if sum(abs(each) <= allowed for each in around) >= _JOB_SHARE * len(starts) else None


def job_episodes(history: GroupHistory) -> Iterator[Episode]:
    """Yield the episodes of timetables."""
    return (_episode(job, history) for job in history.once(jobs))


def _episode(job: Job, history: GroupHistory) -> Episode:
    lengths = [run.end - run.begin for run in job.runs if run.end is not None]
    began = {run.begin for run in job.runs}
    stays = [stay for stay in history.stays if stay.joined_at in began]
    return Episode(
        PATTERN,
        Subject(what=stays[-1].normalised if stays else None),
        len(job.runs),
        job.runs[0].begin,
        job.runs[-1].begin,
        job.recognized_at,
        job.ended_at,
        stays[-1].incarnation if stays else history.newest_incarnation,
        probable_cause="timetable",
        median_interval_ms=job.period,
        usual_stay_ms=int(median(lengths)) if lengths else None,
        evidence=some_offsets(stay.joined_offset for stay in stays if stay.joined_offset is not None),
        members=frozenset(),
    )


def _words(episode: Episode) -> Words:
    """Return the words of `job`."""
    runs = f"{episode.count} runs of about {duration_text(episode.usual_stay_ms)}, one every {interval(episode)}"
    return f"The group has members by a timetable: {runs}.", "Between its runs the group is Empty, which is no trouble."


PATTERN: Final = Pattern(
    "job",
    _words,
    "`runs` runs begin at the times of a timetable.",
    find=job_episodes,
    limits=Settings.by_name,
    severity=INFO,
)
