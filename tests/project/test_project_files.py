"""What others rely on in a repository has the forms that its readers know."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kip848_records import __version__

ROOT = Path(__file__).parents[2]
ISSUES = ROOT / ".github" / "ISSUE_TEMPLATE"
WORKFLOWS = ROOT / ".github" / "workflows"
RUN = ROOT / ".github" / "actions" / "run" / "action.yml"
FORMS = {
    **dict.fromkeys((path for path in ISSUES.glob("*.yml") if path.stem != "config"), "vendor.github-issue-forms"),
    ISSUES / "config.yml": "vendor.github-issue-config",
    **dict.fromkeys(WORKFLOWS.glob("*.yml"), "vendor.github-workflows"),
    RUN: "vendor.github-actions",
    ROOT / "CITATION.cff": "vendor.citation-file-format",
}


def validate(path, schema):
    # The schemas come with the package: nothing is fetched.
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--default-filetype", "yaml", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.process
@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_its_form_is_known(path):
    answer = validate(path, FORMS[path])
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.process
@pytest.mark.parametrize("name", ["failure.yml", "CITATION.cff"])
def test_a_slip_would_be_seen(tmp_path, name):
    (path,) = (path for path in FORMS if path.name == name)
    slip = tmp_path / name
    slip.write_text(path.read_text().replace("body:", "bodies:").replace("title:", "titel:"))
    assert validate(slip, FORMS[path]).returncode == 1


def steps_of(workflow):
    jobs = YAML(typ="safe").load(WORKFLOWS / f"{workflow}.yml")["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize(("workflow", "target"), [("tests", "test-all"), ("nightly", "test-nightly")])
def test_a_workflow_runs_a_target_that_there_is(workflow, target):
    (step,) = [step for step in steps_of(workflow) if step.get("uses") == f"./{RUN.parent.relative_to(ROOT)}"]
    assert step["with"] == {"target": target}
    assert f"\n{target}: " in (ROOT / "Makefile").read_text()
    assert YAML(typ="safe").load(RUN)["runs"]["steps"][-1]["run"] == ".ci/run ${{ inputs.target }}"


def test_an_environment_from_the_cache_is_that_of_its_pins_and_make_takes_it():
    steps = YAML(typ="safe").load(RUN)["runs"]["steps"]
    (key,) = [step["with"]["key"] for step in steps if step.get("with", {}).get("path") == ".venv"]
    makefile = (ROOT / "Makefile").read_text()
    (needs,) = re.findall(r"^\$\(AUDITS\): (.*)$", makefile, re.MULTILINE)
    assert all(f"'{name}'" in key for name in needs.split())
    (touched,) = [step["run"] for step in steps if "touch" in step.get("run", "")]
    stamps = re.findall(r"^\w+ := (\.venv/\w+)-\$\(notdir \$\(PYTHON\)\)$", makefile, re.MULTILINE)
    assert touched == " && ".join(
        f"touch {stamp}-python3" for stamp in stamps
    )  # in this order: each needs the one before


def test_a_night_that_fails_says_its_seed():
    (seed,) = [step["run"] for step in steps_of("nightly") if step.get("id") == "seed"]
    assert 'KIP848_TESTS_SEED=$seed" >> "$GITHUB_ENV"' in seed
    assert "with seed $SEED" in steps_of("nightly")[-1]["run"]


def test_the_citation_is_of_this_version():
    assert YAML(typ="safe").load(ROOT / "CITATION.cff")["version"] == __version__


def test_issue_forms_ask_for_what_commands_print():
    text = "".join(path.read_text() for path in ISSUES.glob("*.yml"))
    assert all(command in text for command in ("kip848 doctor", "kip848 inspect", "kip848 --version"))


def test_each_path_that_contributors_read_of_is_there():
    """Paths from the root of the project, the package or the replay; a file's name alone may lie anywhere."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([\w./-]+(?:/|\.(?:py|sql|js|toml|md|txt|json)))`", text))
    roots = (ROOT, ROOT / "kip848_records", ROOT / "kip848_records" / "replay")
    names = {path.name for path in (ROOT / "kip848_records").rglob("*.py")}
    assert len(named) > 40
    there = (name for name in named if name in names or any((root / name).exists() for root in roots))
    assert named - set(there) == {"out/bench.json"}  # a target of make writes it


def test_an_old_python_is_told_so(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(sys, "version", "3.9.18 (main)")
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer, and this is 3\.9\.18: use python3\.11 -m venv"):
        runpy.run_path(str(ROOT / "build_backend.py"))


def test_the_build_backend_has_the_hooks_of_hatchling():
    found = runpy.run_path(str(ROOT / "build_backend.py"))
    assert {"build_wheel", "build_sdist", "build_editable", "get_requires_for_build_wheel"} <= found.keys()
