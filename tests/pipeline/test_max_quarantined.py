"""`--max-quarantined`: an audit that is finished, and all the same failed."""

from types import SimpleNamespace

import pytest

from kip848_records.cli import audit as command
from kip848_records.cli import main
from kip848_records.pipeline import audit
from kip848_records.pipeline.options import Audit
from kip848_records.report import summary


@pytest.fixture
def exit_code(monkeypatch, tmp_path):
    """Run the command, with an audit of which so many rows were quarantined; its exit code."""
    monkeypatch.setattr("kip848_records.spark.session.get_session", SimpleNamespace)
    monkeypatch.setattr(summary, "summary", lambda *_: ["the summary"])
    monkeypatch.setattr(command, "open_tables", lambda *_, **__: None)
    log = tmp_path / "log.parquet"
    log.touch()

    def run(limit, quarantined, records):
        def audited(_spark, options, _progress):
            return Audit(options, 1, "kafka", None, 1, records, 0, quarantined)

        monkeypatch.setattr(audit, "run_audit", audited)
        return main(["audit", str(log), "--out", str(tmp_path / "out"), "--max-quarantined", limit])

    return run


@pytest.mark.parametrize(
    ("limit", "quarantined", "code"),
    [
        ("0", 0, 0),
        ("0", 1, 1),
        ("3", 3, 0),
        ("3", 4, 1),
        ("0%", 0, 0),
        ("0%", 1, 1),
        ("1.5%", 3, 0),
        ("1.5%", 4, 1),
        ("100%", 200, 0),
    ],
)
def test_exit_code(exit_code, capsys, limit, quarantined, code):
    assert exit_code(limit, quarantined, {3: 150, None: 50}) == code
    said = capsys.readouterr()
    assert said.out == "the summary\n"
    refusal = f"error: {quarantined} of 200 rows were quarantined, more than --max-quarantined {limit}\n"
    assert (refusal in said.err) == bool(code)


def test_of_nothing_nothing_is_quarantined(exit_code):
    assert exit_code("0%", 0, {}) == 0


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5", "101%", "100.1%", "1e3", "many", "%", "5 %", "nan%", "\u0663", "1_0"]
)
def test_what_is_no_limit(capsys, monkeypatch, text):
    monkeypatch.setattr("kip848_records.spark.session.get_session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as ended:
        main(["audit", "log", "--out", "out", f"--max-quarantined={text}"])
    assert ended.value.code == 2
    assert f"argument --max-quarantined: {text!r} is neither a number nor a percentage" in capsys.readouterr().err
