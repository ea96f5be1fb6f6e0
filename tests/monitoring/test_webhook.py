"""`kip848 check --webhook`: a real HTTP server gets what is new; a failure is one line, and changes nothing."""

import json
import logging
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from kip848_records.cli import main
from kip848_records.expectations import EXPECTATIONS
from kip848_records.report.news import News
from kip848_records.report.webhook import open_webhook
from kip848_records.tables.registry import DEFAULT
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET = "s3cret-token"  # noqa: S105 - of no one
NEWS = News("a title", "a text")
OTHERS = [each.name for each in EXPECTATIONS if each.name not in {"group_stable", "streams_ready"}]


def ago(minutes):
    return CAPTURED - timedelta(minutes=minutes)


class Server:
    """`got`: the path, headers and JSON of each request."""

    def __init__(self, status):
        self.got = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.got.append((self.path, self.headers, json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving(status=200):
    server = Server(status)
    thread = Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()


@pytest.fixture
def server():
    with serving() as each:
        yield each


def was(group, state, since, until=None):
    return {"group_id": group, "group_type": "consumer", "state": state, "from_at": since, "to_at": until}


def state(group, state, since):
    row = {"group_id": group, "group_type": "consumer", "state": state, "since": since, "history": "right_censored"}
    return row | {"members": 1, "converged_members": 0}


NEW = (state("new;1", "Reconciling", ago(30)), [was("new;1", "Stable", ago(600), ago(30))])
OLD = (state("old", "Reconciling", ago(300)), [was("old", "Reconciling", ago(300))])
WELL = (state("well", "Stable", ago(5)), [was("well", "Assigning", ago(90), ago(5)), was("well", "Stable", ago(5))])


@pytest.fixture
def checked(tmp_path, capsys):
    """Write the tables of two audits, an hour apart, and check them; the exit code, stdout and stderr."""

    def run(  # noqa: PLR0913 - what a test may choose
        *groups,
        webhooks=(),
        audits=2,
        more=(),
        rebalances=(),
        config="",
        history=(),
        before=None,
        troubles=(),
        on=(),
        **facts,
    ):
        tables = {name: [] for name in DEFAULT if name not in ("audit_runs", "log")}
        tables["group_state"] = [row for row, _ in groups]
        tables["group_state_timeline"] = [each for _, timeline in groups for each in timeline]
        tables["rebalance"] = rebalances
        tables["diagnosis"] = troubles
        tables["partition_history"] = history
        run = {"dialect": "kafka", **facts}
        runs = [{"run": n, "captured_at": at} | run for n, at in ((1, ago(60)), (2, CAPTURED))]
        runs[0] |= before or {}
        if not (tmp_path / "out").exists():
            made_tables.write(tmp_path / "out", "prod", audit_runs=runs[-audits:], **tables)
            off = "".join(f'[expectations.{each}]\nseverity = "off"\n' for each in OTHERS if each not in on)
            (tmp_path / "audit.toml").write_text(off + config)
        options = [text for url in webhooks for text in ("--webhook", url)]
        options += more
        found = main(["check", str(tmp_path / "out"), "--config", str(tmp_path / "audit.toml"), "--quiet", *options])
        said = capsys.readouterr()
        return found, said.out, said.err

    return run


def test_what_became_stuck_and_what_recovered_is_sent_once(checked, server, tmp_path):
    code, _, err = checked(NEW, OLD, WELL, webhooks=[f"{server.url}/hook"])
    assert (code, err) == (1, "")
    ((path, headers, sent),) = server.got
    assert (path, headers["Content-Type"]) == ("/hook", "application/json")
    assert sent["title"] == "kip848: 1 group overdue, 1 group recovered (prod)"
    assert sent["message"].splitlines() == [
        "Cluster prod, captured at 2026-01-01 12:00:00 UTC",
        "Newly overdue: new;1 (≥ 30 min)",
        "Recovered: well",
        f"Next: kip848 explain {tmp_path / 'out'} --cluster prod --group='new;1'",
    ]


@pytest.mark.parametrize("has_capture_time", [True, False])
def test_ages_of_a_copy_are_as_of_its_newest_record(checked, server, has_capture_time):
    """Unless the user says when the log was copied: the message limits its ages as the summary does."""
    code, _, err = checked(NEW, webhooks=[server.url], is_copy=True, has_capture_time=has_capture_time)
    assert (code, err) == (1, "")
    ((_, _, sent),) = server.got
    limit = "Ages are as of the newest record; pass --captured-at with the time of the copy"
    limits = [] if has_capture_time else [limit]
    assert sent["message"].splitlines()[1:-1] == [*limits, "Newly overdue: new;1 (≥ 30 min)"]


def test_a_partition_that_was_not_read_to_its_end_limits_the_ages_in_a_message(checked, server):
    cut = {"partition": 0, "is_base": True, "is_read_to_end": False, "captured_at": ago(2)}
    checked(NEW, webhooks=[server.url], history=[cut])
    ((_, _, sent),) = server.got
    assert sent["message"].splitlines()[1].startswith("Partition 0 is known only to 2026-01-01 11:58:00 UTC: ")


def test_a_log_shipper_reads_one_line(checked, server):
    code, out, err = checked(NEW, webhooks=[server.url], more=["--json-line"])
    assert (code, err, len(server.got), out.count("\n")) == (1, "", 1, 1)
    found = json.loads(out)
    assert (found["exit_code"], found["fail_expectations"]) == (1, ["group_stable"])


def test_a_file_that_cannot_be_written_does_not_keep_the_message_back(checked, server):
    code, out, err = checked(NEW, webhooks=[server.url], more=["--junit", "/dev/full"])
    assert (code, len(server.got)) == (1, 1)
    assert "group_stable" in out
    assert err.startswith("error: results cannot be written to /dev/full: ")


def test_nothing_new_is_no_message_though_the_check_fails(checked, server):
    code, _, err = checked(OLD, webhooks=[server.url])
    assert (code, err, server.got) == (1, "", [])


def test_at_the_first_audit_every_stuck_group_is_news(checked, server):
    assert checked(OLD, WELL, webhooks=[server.url], audits=1)[0] == 1
    ((_, _, sent),) = server.got
    assert "Overdue at the first audit: old (≥ 5 h)" in sent["message"]
    assert "well" not in sent["message"]


def test_rebalances_that_states_do_not_show(checked, server):
    """Of classic and share groups: one goes on since after the audit before, one for longer, one ended, one is new."""

    def row(group, began, ended=None):
        end = {"ended_at": ended, "outcome": "open" if ended is None else "converged"}
        return {"group_id": group, "group_type": "classic", "began_at": began, "began_offset": 1, **end}

    groups = [state(each, "Stable", ago(600)) | {"group_type": "classic"} for each in ("a", "b", "c", "d")]
    timeline = [was(each, "Stable", ago(600)) for each in ("a", "b", "c", "d")]
    rows = [row("a", ago(30)), row("b", ago(90)), row("c", ago(90), ago(20)), row("d", ago(40), ago(30))]
    checked(
        *((each, [before]) for each, before in zip(groups, timeline, strict=True)),
        webhooks=[server.url],
        rebalances=rows,
    )
    ((_, _, sent),) = server.got
    assert sent["message"].splitlines()[1:3] == ["Newly overdue: a (≥ 30 min)", "Recovered: c"]


def with_states(group, **since):
    """A group with these states, each since so many minutes before the capture."""
    names, begins = [*since], [ago(minutes) for minutes in since.values()]
    spans = zip(names, begins, [*begins[1:], None], range(len(names)), strict=True)
    timeline = [
        was(group, name, begin, end) | {"from_offset": offset, "to_offset": offset + 1 if end else None}
        for name, begin, end, offset in spans
    ]
    return state(group, names[-1], begins[-1]), timeline


def lines(server):
    ((_, _, sent),) = server.got
    return [line for line in sent["message"].splitlines() if not line.startswith(("Cluster", "Next"))]


def test_a_group_in_a_healthy_rebalance_is_no_news(checked, server):
    """Neither as it begins, nor as it ends."""
    begun, ended = with_states("begun", Stable=600, Reconciling=5), with_states("ended", Assigning=65, Stable=55)
    assert checked(begun, ended, webhooks=[server.url])[0] == 0
    assert server.got == []


def test_nor_is_it_at_the_first_audit(checked, server):
    checked(with_states("begun", Reconciling=5), webhooks=[server.url], audits=1)
    assert server.got == []


def test_a_group_is_news_once_it_exceeds_the_limit(checked, server):
    """Its rebalance was going on at the audit before, within the limit."""
    checked(with_states("slow", Reconciling=65), webhooks=[server.url])
    assert lines(server) == ["Newly overdue: slow (≥ 1 h 5 min)"]


def test_the_same_copy_that_is_audited_again_has_no_news(checked, server):
    checked(OLD, webhooks=[server.url], before={"captured_at": CAPTURED})
    assert server.got == []


CLOCK_AHEAD = {"captured_at": ago(30), "counted_until": {0: 2}}
"""The run before read up to offset 2 an hour ago; its clock was half an hour ahead."""


def test_a_group_that_a_fast_clock_read_is_no_news(checked, server):
    checked(with_states("late", Stable=600, Assigning=50, Reconciling=45), webhooks=[server.url], before=CLOCK_AHEAD)
    assert server.got == []  # it was Assigning at offset 1, for 20 minutes by that clock


def test_a_group_that_got_stuck_behind_what_a_fast_clock_read_is_news(checked, server):
    later = with_states("later", Empty=600, Stable=500, Reconciling=45)
    share = {"group_id": "s", "group_type": "share", "outcome": "open", "began_at": ago(45), "began_offset": 2}
    hidden = state("s", "Stable", ago(600)) | {"group_type": "share"}, [was("s", "Stable", ago(600))]
    out = checked(later, hidden, webhooks=[server.url], before=CLOCK_AHEAD, rebalances=[share])
    assert (out[0], lines(server)) == (1, ["Newly overdue: later (≥ 45 min), s (≥ 45 min)"])


def test_a_topic_that_was_made_anew_begins_again(checked, server):
    before = {"captured_at": ago(60), "counted_until": {0: 1000}}
    checked(with_states("new", Stable=50, Reconciling=45), webhooks=[server.url], before=before)
    assert lines(server) == ["Overdue now, state at the audit before not known: new (≥ 45 min)"]


def test_a_group_that_was_deleted_before_the_audit_before_did_not_recover(checked, server):
    old = was("again", "Reconciling", ago(600), ago(90)) | {"from_offset": 0, "to_offset": 1}
    new = was("again", "Stable", ago(50)) | {"from_offset": 7, "incarnation": 1}
    group = state("again", "Stable", ago(50)) | {"incarnation": 1}
    checked((group, [old, new]), webhooks=[server.url], before={"captured_at": ago(60), "counted_until": {0: 5}})
    assert server.got == []


def test_a_group_that_changes_between_assigning_and_reconciling_stays_stuck(checked, server):
    now, timeline = with_states("long", Stable=600, Assigning=90, Reconciling=62)
    assert checked((now | {"since": ago(90)}, timeline), webhooks=[server.url])[0] == 1
    assert server.got == []


def test_a_group_that_recovered_and_is_in_its_next_rebalance_has_recovered(checked, server):
    checked(with_states("again", Reconciling=90, Stable=30, Assigning=5), webhooks=[server.url])
    assert lines(server) == ["Recovered: again"]


def test_a_group_that_recovered_and_is_stuck_again_is_news_again(checked, server):
    checked(with_states("again", Reconciling=90, Stable=30, Assigning=15), webhooks=[server.url])
    assert lines(server) == ["Newly overdue: again (≥ 15 min)"]


@pytest.mark.parametrize(
    ("since", "news"),
    [
        # Stuck at both audits, each time by the limit of its state: 300 s for NotReady, 600 s for the others.
        ({"NotReady": 67, "Reconciling": 12}, []),
        ({"Reconciling": 75, "NotReady": 7}, []),
        # It exceeded the limit of the state that it left.
        ({"NotReady": 67, "Reconciling": 1}, ["Recovered: s"]),
        ({"Reconciling": 75, "NotReady": 2}, ["Recovered: s"]),
        # At the audit before it did not exceed a limit.
        ({"NotReady": 64, "Reconciling": 12}, ["Newly overdue: s (≥ 12 min)"]),
        ({"Reconciling": 67, "NotReady": 7}, ["Newly overdue: s (≥ 7 min)"]),
        ({"NotReady": 64, "Reconciling": 1}, []),
    ],
    ids=lambda each: "-".join(f"{name}{minutes}" for name, minutes in each.items()) if isinstance(each, dict) else "",
)
def test_a_streams_group_has_the_limit_of_each_state(checked, server, since, news):
    checked(with_states("s", Empty=600, **since), webhooks=[server.url])
    assert (lines(server) if server.got else []) == news


def test_a_group_that_now_waits_only_for_absent_members_has_not_recovered(checked, server):
    now, timeline = with_states("away", Stable=600, Reconciling=90)
    checked((now | {"waits_for_away_only": True}, timeline), webhooks=[server.url])
    assert server.got == []


def test_a_group_has_the_limit_of_its_pattern(checked, server):
    """The limit of a streams group whose topology is not ready is that of another expectation."""
    limits = """
        [expectations.group_stable.groups]
        "fast-*" = { max_seconds = 60 }
        "batch-*" = { max_seconds = 86400 }
        "test-?" = { severity = "off" }
        [expectations.streams_ready]
        severity = "warn"
        max_seconds = 1800
    """
    since = {"fast-1": 5, "batch-1": 30, "test-1": 30, "test-12": 30}
    groups = [with_states(each, Stable=600, Reconciling=minutes) for each, minutes in since.items()]
    groups += [with_states(each, Empty=600, NotReady=minutes) for each, minutes in (("s1", 20), ("s2", 40))]
    checked(*groups, webhooks=[server.url], config=limits)
    assert lines(server) == ["Newly overdue: s2 (≥ 40 min), test-12 (≥ 30 min), fast-1 (≥ 5 min)"]


def test_many_groups_are_counted(checked, server):
    many = [(state(f"g{n:02}", "Reconciling", ago(30)), [was(f"g{n:02}", "Stable", ago(600))]) for n in range(15)]
    checked(*many, webhooks=[server.url])
    ((_, _, sent),) = server.got
    assert sent["title"] == "kip848: 15 groups overdue (prod)"
    assert "g09 (≥ 30 min), 5 more" in sent["message"]


def trouble(group, first, last=None, *, pattern="restart_loop", severity="warning", **columns):
    """A trouble of a client that was recognized ten minutes after its first event, and ended ten after its last one."""
    ends = {"last_seen": CAPTURED, "is_present": True}
    if last is not None:
        ends = {"last_seen": ago(last), "ended_at": ago(last - 10), "is_present": False}
    row = {
        "group_id": group,
        "partition": 0,
        "incarnation": 0,
        "pattern": pattern,
        "severity": severity,
        "first_seen": ago(first),
        **ends,
    }
    row |= {"recognized_at": ago(first - 10), "sentence": "It restarts.", "next_step": "Read its log.", "episode": 1}
    return row | {"subject": {"client_id": f"{group}-app", "client_host": "/10.0.0.9"}} | columns


LOOPS = ("restart_loop", "storm", "storm_across")


def test_troubles_that_began_or_ended_are_sent(checked, server, tmp_path):
    """The audit before was an hour ago. What began before it, and lasts, is no news; nor is what had ended before."""
    calm = [with_states(each, Stable=6000) for each in ("new", "worse", "old")]
    storm = trouble(None, 50, 45, pattern="storm_across", incarnation=None, partition=None, subject={})
    rows = [
        trouble("new", 65),
        trouble("worse", 40, pattern="storm", severity="error", cost_share=0.4, at_least=True, subject={}),
        trouble("old", 300),
        trouble("old", 200, 65, pattern="storm", subject={}),
        trouble("earlier", 300, 100),
        trouble("gone", 55, 30),
        storm,
        trouble("explained", 40, explained_by="storm"),
        trouble("info", 40, severity="info"),
    ]
    checked(*calm, webhooks=[server.url], troubles=rows, on=LOOPS)
    ((_, _, sent),) = server.got
    assert sent["title"] == "kip848: 2 troubles began, 1 trouble ended, 2 troubles came and went (prod)"
    assert sent["message"].splitlines()[1:] == [
        "New troubles over time:",
        "  error: worse: storm (≥ 40 min)",
        "  warning: new: restart loop, new-app @ 10.0.0.9 (1 h 5 min)",
        "Troubles that ended:",
        "  warning: old: storm (2 h 15 min)",
        "Troubles that came and went since the audit before:",
        "  warning: gone: restart loop, gone-app @ 10.0.0.9 (25 min)",
        "  warning: several groups: storm across (5 min)",
        f"Next: kip848 explain {tmp_path / 'out'} --cluster prod --group=worse",
    ]


UNDATED = (state("undated", "Reconciling", None), [])


@pytest.mark.parametrize(
    ("timeline", "is_news"),
    [
        ([was("undated", "Stable", ago(600), ago(30)), was("undated", "Reconciling", ago(30))], True),
        ([was("undated", "Reconciling", None)], False),
    ],
    ids=["stable before", "already so"],
)
def test_a_group_that_is_stuck_for_an_unknown_time_is_news_once(checked, server, timeline, is_news):
    """It may be stuck for too long: no message would say that all is well."""
    checked((UNDATED[0], timeline), webhooks=[server.url])
    assert [sent["title"] for _, _, sent in server.got] == is_news * [
        "kip848: 1 group stuck for an unknown time (prod)"
    ]
    if is_news:
        assert "Stuck for an unknown time: undated" in server.got[0][2]["message"].splitlines()


def test_where_no_record_has_a_time_it_is_said_that_no_message_can_come(checked, server):
    _, _, said = checked(UNDATED, webhooks=[server.url], audits=1, captured_at=None)
    assert server.got == []
    assert said == "note: no message about cluster prod: its log has no times, so no changes are known\n"


def test_a_check_begins_with_how_the_groups_are_and_what_changed(checked):
    rows = [trouble("new", 40), trouble("gone", 55, 30)]
    _, out, _ = checked(NEW, WELL, with_states("new", Stable=600), troubles=rows, on=LOOPS)
    assert out.splitlines()[:5] == [
        "Cluster prod, captured at 2026-01-01 12:00:00 UTC",
        "1 of 3 groups stuck · 1 failing over time · 1 healthy",
        "Since the run before: 1 newly overdue, 1 recovered",
        "Troubles over time since then: 1 began, 1 came and went",
        "",
    ]


@pytest.mark.slow
def test_the_page_and_the_json_of_a_check_say_what_changed(checked, tmp_path):
    json_file, page = tmp_path / "check.json", tmp_path / "page.html"
    checked(
        NEW,
        WELL,
        with_states("new", Stable=600),
        troubles=[trouble("new", 40)],
        on=LOOPS,
        more=["--json", str(json_file)],
    )
    (cluster,) = json.loads(json_file.read_text())["clusters"].values()
    assert (cluster["groups"]["stuck"], cluster["groups"]["healthy"]) == (1, 1)
    changed = cluster["since_last_run"]
    assert (changed["newly_overdue"], changed["began"], changed["ended"]) == (1, 1, 0)
    config = ["--config", str(tmp_path / "audit.toml"), "--quiet"]
    assert main(["report", str(tmp_path / "out"), "--out", str(page), *config]) == 0
    assert "<p>Since the run before: 1 newly overdue, 1 recovered.</p>" in page.read_text(encoding="utf-8")


def test_a_check_of_the_first_audit_has_no_run_before(checked, tmp_path):
    """A quiet check prints nothing while all is well."""
    json_file = tmp_path / "check.json"
    assert checked(WELL, audits=1, more=["--json", str(json_file)]) == (0, "", "")
    (cluster,) = json.loads(json_file.read_text())["clusters"].values()
    assert cluster["since_last_run"] is None


def test_a_trouble_of_an_audit_that_is_repeated_is_no_news(checked, server):
    """Two audits of one copy: the second one knows what the first one knew."""
    rows = [trouble("new", 40), trouble("gone", 55, 30)]
    before = {"captured_at": CAPTURED}
    checked(with_states("new", Stable=600), webhooks=[server.url], troubles=rows, on=LOOPS, before=before)
    assert server.got == []


def test_at_the_first_audit_every_trouble_that_lasts_is_news(checked, server):
    rows = [trouble("old", 300), trouble("gone", 300, 200)]
    checked(with_states("old", Stable=600), webhooks=[server.url], troubles=rows, on=LOOPS, audits=1)
    assert lines(server) == [
        "Troubles over time at the first audit:",
        "  warning: old: restart loop, old-app @ 10.0.0.9 (5 h)",
    ]


def test_of_many_troubles_the_worst_are_sent_and_the_others_counted(checked, server):
    rows = [trouble(f"g{n:02}", 40, cost_share=n / 100) for n in range(14)]
    checked(*(with_states(row["group_id"], Stable=600) for row in rows), webhooks=[server.url], troubles=rows, on=LOOPS)
    told = lines(server)
    assert [line.split(": ")[1] for line in told[1:-1]] == [f"g{n:02}" for n in range(13, 3, -1)]
    assert told[-1] == "  and 4 more"


def test_a_trouble_has_the_severity_of_the_expectation_of_its_pattern(checked, server):
    config = """
        [expectations.restart_loop]
        severity = "warn"
        [expectations.restart_loop.groups]
        "test-*" = { severity = "off" }
    """
    rows = [trouble("test-1", 40), trouble("real", 40, severity="error", cost_share=0.4)]
    checked(with_states("real", Stable=600), webhooks=[server.url], troubles=rows, on=LOOPS, config=config)
    assert lines(server)[1:] == ["  warning: real: restart loop, real-app @ 10.0.0.9 (40 min)"]


def test_secrets_reach_the_server_and_no_text(checked, server, monkeypatch):
    monkeypatch.setenv("HOOK", SECRET)
    code, out, err = checked(NEW, webhooks=[server.url + "/${env:HOOK}?key=${env:HOOK}&x=a+b"])
    assert (code, err) == (1, "")
    ((path, _, _),) = server.got
    assert path == f"/{SECRET}?key={SECRET}&x=a+b"
    assert SECRET not in out


@pytest.mark.parametrize("groups", [(NEW,), (WELL,)])
def test_a_webhook_that_refuses_is_one_line_and_the_verdict_stands(checked, groups, monkeypatch):
    monkeypatch.setenv("HOOK", SECRET)
    verdict, shown, _ = checked(*groups)
    with serving(500) as server:
        code, out, err = checked(*groups, webhooks=[server.url + "/${env:HOOK}"])
        assert len(server.got) == 1
    assert (code, out) == (verdict, shown)
    assert len(err.splitlines()) == 1
    assert err.startswith("warning: the webhook http://... got no message: ")
    assert "500" in err
    assert SECRET not in err


def test_nobody_listens_and_the_next_webhook_is_asked_all_the_same(checked, server):
    with serving() as gone:
        pass
    code, _, err = checked(NEW, webhooks=[f"{gone.url}/{SECRET}", server.url])
    assert (code, len(server.got)) == (1, 1)
    assert err.count("\n") == 1
    assert "warning: the webhook http://..." in err
    assert SECRET not in err
    assert "127.0.0.1" not in err


class TestReasons:
    """A reason has no text of Apprise: it may contain a part of the URL, decoded and however short."""

    def test_a_status(self):
        with serving(503) as refusing:
            assert open_webhook(f"{refusing.url}/x").send(NEWS) == "the service answered with status 503"

    def test_a_host_that_does_not_answer(self):
        with serving() as gone:
            pass
        assert open_webhook(f"{gone.url}/x").send(NEWS) == "the service cannot be reached"

    @pytest.mark.parametrize("text", ["no topic abc", "abc: error=abc", "error=200 abc", ""])
    def test_a_warning_that_is_not_known(self, monkeypatch, server, text):
        webhook = open_webhook(f"{server.url}/abc")
        monkeypatch.setattr(webhook._service, "notify", lambda **_: logging.getLogger("apprise").warning(text))
        assert webhook.send(NEWS) == "the service refused it"

    def test_an_error_of_a_service(self, monkeypatch, server):
        def fail(**_):
            raise ValueError(SECRET)

        webhook = open_webhook(server.url)
        monkeypatch.setattr(webhook._service, "notify", fail)
        assert webhook.send(NEWS) == "Apprise failed with ValueError"

    def test_it_is_not_shown(self):
        assert repr(open_webhook(f"https://u:{SECRET}@x/{SECRET}")) == "Webhook(scheme='https')"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (f"https://[host/{SECRET}", "--webhook https://... is not a URL that Apprise knows"),
        (f"https://user:{SECRET}℀@host/x", "--webhook https://... is not a URL that Apprise knows"),
        ("hooks.example.com/x", "--webhook is not a URL"),
        (f"nowhere://{SECRET}", "--webhook nowhere://... is not a URL that Apprise knows"),
        (f"slack://{SECRET}", "--webhook slack://... is not a URL that Apprise knows"),
        ("https://x/${env:NOT_THERE}", "--webhook has ${env:NOT_THERE}: the environment has no variable NOT_THERE"),
        ("https://x/${file:/none:a}", "--webhook refers to /none: No such file or directory"),
    ],
)
def test_a_url_that_is_none_is_refused_before_any_work(checked, url, error):
    code, out, err = checked(NEW, webhooks=[url])
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"error: {error}"
    assert len(err.splitlines()) == 2
    assert SECRET not in err


def test_without_apprise_the_extra_is_named(checked, monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    code, out, err = checked(NEW, webhooks=["https://x"])
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "error: --webhook needs Apprise, which is not installed",
        "hint: pip install 'kip848-records[notify]'",
    ]


def test_slack_is_known_by_its_scheme_and_by_its_address():
    tokens = "T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    for url in (f"slack://{tokens}", f"https://hooks.slack.com/services/{tokens}"):
        assert type(open_webhook(url)._service).__name__ == "NotifySlack"


@pytest.mark.parametrize("option", [["--webhook", "https://x"], ["--openmetrics", "x.prom"]])
def test_tables_that_are_not_kept_have_no_run_before(option, capsys, captures):
    assert main(["check", str(captures / "kafka-4.3.1" / "segments"), *option]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {option[0]} compares an audit with the one before")
    assert "--out DIR" in hint
