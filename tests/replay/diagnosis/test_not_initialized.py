"""Topics of share groups that are never initialized: over all attempts, and until one succeeds."""

import pytest

from kip848_records.replay.diagnosis.observed import ShareState
from kip848_records.replay.inputs import ChangedLimit
from tests.replay.diagnosis.groups import group, ms, owned, stay, told
from tests.replay.diagnosis.test_settings import rows_of

MEMBER = stay("app", 0, group_type="share", topics=("mails",))


def state(begin, end, what="initializing"):
    return ShareState("mails", what, ms(begin), None if end is None else ms(end), round(begin * 10))


def attempts(first, number, every=1.0, lasts=0.9):
    return [state(first + every * n, first + every * n + lasts) for n in range(number)]


def found(*states, until, **more):
    history = group(MEMBER, until=until, share_states=states, owned=[owned(MEMBER, 0, None, is_idle=True)], **more)
    return [(each.pattern, each.first_seen, each.ended_at, each.count) for each in told(history)]


@pytest.mark.parametrize("states", [attempts(1, 60), [state(1, None)]])
def test_the_time_counts_from_the_first_attempt(states):
    """A topic that is tried exists, so that its members do not wait for one that does not."""
    assert found(*states, until=61) == [("not_initialized", ms(1), None, len(states))]


def test_it_is_over_once_an_attempt_succeeds():
    done = state(30.9, None, "initialized")
    assert found(*attempts(1, 30), done, until=90) == [("not_initialized", ms(1), ms(30.9), 30)]
    assert found(*attempts(1, 4), state(4.9, None, "initialized"), until=90) == []
    later = attempts(60, 4)  # partitions that were added later are tried anew
    assert found(*attempts(1, 30), done, *later, until=64.5) == [("not_initialized", ms(1), ms(30.9), 30)]


def test_attempts_that_end_with_the_members_are_over():
    assert found(*attempts(1, 30), until=90)[0] == ("not_initialized", ms(1), ms(30.9), 30)


def test_a_member_without_attempts_waits_for_a_topic_that_is_not_there():
    assert [row[0] for row in found(until=90)] == ["no_topic"]


def test_words_and_setting():
    history = group(MEMBER, until=61, share_states=attempts(1, 60))
    sentence, step = told(history)[0].words
    assert sentence == (
        "The coordinator has tried to initialize partitions of mails for this share group for 1 h, in 60 attempts, "
        "without success. 1 member subscribes to it, and no member gets a partition that is not initialized. The topic "
        "exists."
    )
    assert step.startswith("Look at the topic __share_group_state: ")
    assert not rows_of(history, ChangedLimit("not_initialized", None, "initializing_seconds", 4000))
