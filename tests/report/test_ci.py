"""The pipelines that users copy: what GitHub and GitLab take, and commands that there are."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kip848_records.cli import _parser
from kip848_records.config import load_settings
from tests.docs.reader import environment, make_clone

CI = Path(__file__).parents[2] / "conf" / "ci"
GITHUB, GITLAB = CI / "github-actions.yml", CI / "gitlab-ci.yml"
CRONJOB = CI.parent / "container" / "cronjob.yaml"
SCHEMAS = {GITHUB: "vendor.github-workflows", GITLAB: "vendor.gitlab-ci"}


def jobs(pipeline):
    loaded = YAML(typ="safe").load(pipeline)
    return loaded["jobs"] if pipeline == GITHUB else loaded


def commands(job):
    """The lines of a job's scripts, continued ones joined."""
    scripts = job["script"] if "script" in job else [step["run"] for step in job["steps"] if "run" in step]
    return "\n".join(scripts).replace("\\\n", " ").split("\n")


def validate(pipeline, schema):
    # The schemas come with the package: nothing is fetched.
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, pipeline]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("pipeline", SCHEMAS, ids=lambda pipeline: pipeline.stem)
@pytest.mark.process
def test_its_form_is_known(pipeline):
    answer = validate(pipeline, SCHEMAS[pipeline])
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(("pipeline", "key"), [(GITHUB, "runs-on"), (GITLAB, "when: always\n    paths")])
@pytest.mark.process
def test_a_slip_would_be_seen(tmp_path, pipeline, key):
    slip = tmp_path / pipeline.name
    slip.write_text(pipeline.read_text().replace(key, f"x-{key}"))
    assert validate(slip, SCHEMAS[pipeline]).returncode == 1


def test_the_limits_for_a_test_are_smaller_than_the_defaults():
    defaults, ours = load_settings(), load_settings(str(CI / "kip848.toml"))
    changed = {name: setting for name, setting in ours.items() if setting != defaults[name]}
    assert len(changed) >= 5
    assert all(each.limits["max_seconds"] < defaults[name].limits["max_seconds"] for name, each in changed.items())


@pytest.mark.parametrize("pipeline", SCHEMAS, ids=lambda pipeline: pipeline.stem)
def test_the_command_is_one_of_ours(pipeline):
    (command,) = [line for line in commands(jobs(pipeline)["consumer-groups"]) if line.startswith("kip848 ")]
    words = shlex.split(command.replace("$(cat dump/captured-at)", "2026-11-21T08:18:46Z"))
    arguments = _parser(words[1:]).parse_args(words[1:])
    assert arguments.sources == ["dump/log"]
    assert re.fullmatch(r"reports/[\w.]+", arguments.junit)


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", SCHEMAS, ids=lambda pipeline: pipeline.stem)
def test_the_job_runs_as_written_on_what_the_job_before_left(pipeline, captures, tmp_path):
    """All but what sets up the machine. A group of this log is stuck: the check fails, and its reports are there."""
    check = jobs(pipeline)["consumer-groups"]
    scripts = (
        check["script"] if pipeline == GITLAB else [step["run"] for step in check["steps"] if "Check" in step.values()]
    )
    folder = make_clone(tmp_path / "project")
    shutil.copytree(captures / "kafka-4.0.0-zstd" / "segments", folder / "dump" / "log")
    (folder / "dump" / "captured-at").write_text("2026-11-21T08:40:00Z\n")
    (folder / f".{pipeline.stem.partition('-')[0]}").mkdir()
    shutil.copy(CI / "kip848.toml", folder / f".{pipeline.stem.partition('-')[0]}")
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(scripts)],
        cwd=folder,
        env=environment(GITHUB_STEP_SUMMARY=str(folder / "summary.md")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "stuck" in done.stdout
    forms = {"kip848.xml", "kip848.sarif", "kip848.json"} | ({"kip848.md"} if pipeline == GITLAB else set())
    assert {path.name for path in (folder / "reports").iterdir()} == forms
    assert (folder / "summary.md").is_file() == (pipeline == GITHUB)


def test_github_gets_the_reports_of_a_check_that_failed():
    check = jobs(GITHUB)["consumer-groups"]
    names = [step.get("name") or step.get("uses") or step["run"] for step in check["steps"]]
    after = check["steps"][names.index("Check") + 1 :]
    assert [step["uses"].split("@")[0] for step in after] == [
        "actions/upload-artifact",
        "github/codeql-action/upload-sarif",
    ]
    assert all("!cancelled()" in step["if"] for step in after)
    assert "!cancelled()" in check["if"]
    assert check["permissions"]["security-events"] == "write"
    assert '--markdown "$GITHUB_STEP_SUMMARY"' in commands(check)[-2]


def test_gitlab_gets_the_reports_of_a_check_that_failed():
    check = jobs(GITLAB)["consumer-groups"]
    assert check["when"] == check["artifacts"]["when"] == "always"
    assert check["artifacts"]["reports"] == {"junit": "reports/kip848.xml"}


@pytest.mark.parametrize("pipeline", SCHEMAS, ids=lambda pipeline: pipeline.stem)
def test_the_check_reads_what_the_job_before_copied(pipeline):
    before, check = jobs(pipeline)["integration-test"], jobs(pipeline)["consumer-groups"]
    assert "integration-test" in check["needs"]
    if pipeline == GITHUB:
        *_, upload = before["steps"]
        (download,) = [step for step in check["steps"] if step.get("uses", "").startswith("actions/download")]
        assert upload["with"]["name"] == download["with"]["name"]
        assert download["with"]["path"] == "dump"
        uploaded = upload["with"]["path"].split()
    else:
        uploaded = before["artifacts"]["paths"]
    assert uploaded == ["dump/log/__consumer_offsets-*", "dump/captured-at"]


@pytest.mark.process
def test_the_cron_job_makes_the_folder_of_the_metrics_on_an_empty_volume(tmp_path):
    (job,) = [each for each in YAML(typ="safe").load_all(CRONJOB) if each["kind"] == "CronJob"]
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    writes = 'kip848() { for each in "$@"; do case $each in *.prom) : > "$each";; esac; done; }; '
    command = writes + script.replace("/var/lib/kip848", str(tmp_path))
    subprocess.run([*container["command"], command], check=True, env={"PATH": os.defpath})
    assert (tmp_path / "metrics" / "kip848.prom").is_file()
