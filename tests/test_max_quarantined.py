"""`--max-quarantined`: an audit that is finished, and all the same failed."""

from types import SimpleNamespace

import pytest

from kip848_records.audit import Audit
from kip848_records.cli import audit, main


@pytest.fixture
def exit_code(monkeypatch, tmp_path):
    """Run the command, with an audit of which so many rows were quarantined; its exit code."""
    monkeypatch.setattr(audit, "get_session", SimpleNamespace)
    monkeypatch.setattr(audit, "summary", lambda *_: ["the summary"])

    def run(limit, quarantined, records):
        def audited(_spark, options, _progress):
            return Audit(options, "kafka", None, 1, records, 0, 0, quarantined)

        monkeypatch.setattr(audit, "run_audit", audited)
        return main(["audit", "log", "--out", str(tmp_path), "--max-quarantined", limit])

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
    monkeypatch.setattr(audit, "get_session", lambda **_: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as ended:
        main(["audit", "log", "--out", "out", f"--max-quarantined={text}"])
    assert ended.value.code == 2
    assert f"argument --max-quarantined: {text!r} is neither a number of rows nor a share" in capsys.readouterr().err
