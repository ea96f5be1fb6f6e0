"""What others rely on in a repository has the forms that its readers know."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kip848_records import __version__

ROOT = Path(__file__).parents[2]
ISSUES = ROOT / ".github" / "ISSUE_TEMPLATE"
FORMS = {
    **dict.fromkeys((path for path in ISSUES.glob("*.yml") if path.stem != "config"), "vendor.github-issue-forms"),
    ISSUES / "config.yml": "vendor.github-issue-config",
    ROOT / "CITATION.cff": "vendor.citation-file-format",
}


def validate(path, schema):
    # The schemas come with the package: nothing is fetched.
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--default-filetype", "yaml", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_its_form_is_known(path):
    answer = validate(path, FORMS[path])
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("name", ["failure.yml", "CITATION.cff"])
def test_a_slip_would_be_seen(tmp_path, name):
    (path,) = (path for path in FORMS if path.name == name)
    slip = tmp_path / name
    slip.write_text(path.read_text().replace("body:", "bodies:").replace("title:", "titel:"))
    assert validate(slip, FORMS[path]).returncode == 1


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
