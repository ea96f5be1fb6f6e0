"""The pages of docs/reference/, made from the code: `make docs-reference` writes them.

They are committed, so that they can be read without a build. A test compares them with the code.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from importlib.resources import files
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_type

from kip848_records.cli import _parser
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS, Expectation
from kip848_records.queries.answers import ANSWERS, json_schema
from kip848_records.queries.needs import NEEDS
from kip848_records.queries.questions import Question, questions
from kip848_records.replay.diagnosis.limits import ALL_PATTERNS, ENABLED
from kip848_records.replay.diagnosis.patterns import ACROSS_GROUPS, RULES, SETTINGS
from kip848_records.report.runbook import entries
from kip848_records.specs.columns import TIMESTAMP
from kip848_records.specs.tables import DERIVED
from kip848_records.tables.registry import DEFAULT, TABLES
from tests.docs.markdown import table, type_text
from tests.docs.pages import DOCS
from tests.docs.python_api import python_api

if TYPE_CHECKING:
    from pathlib import Path

    from kip848_records.specs.columns import Column, TableSpec

_MADE = "<!-- Made by `make docs-reference`: change the code, not this page. -->"
_GAP, _PARAGRAPH = re.compile(r"\n{3,}"), "\n\n"
_FUNCTION = re.compile(r"\{# Return (.*?) #\}\n\{% macro (\w+\(.*?\)) -?%\}", re.DOTALL)
_PATTERN_NOTES = {
    ALL_PATTERNS: ["For all patterns at once, so there is no `enabled`."],
    ACROSS_GROUPS: ["It is about many groups together, so it takes no patterns of group ids."],
}
_UNITS = {"_ms": "ms", "_seconds": "s", "_bytes": "bytes", "_percent": "%"}


def reference() -> dict[Path, str]:
    """Return the text of each page by its path."""
    made = {
        "cli": _cli(),
        "diagnosis": _diagnosis(),
        "expectations": _expectations(),
        "python": python_api(),
        "questions": _questions(),
        "records": _records(),
        "tables": _tables(),
    }
    pages = {DOCS / "reference" / f"{name}.md": _page(text) for name, text in made.items()}
    return pages | {
        DOCS / "reference" / _schema(name): f"{json.dumps(json_schema(name), indent=2)}\n" for name in ANSWERS
    }


def _schema(question: str) -> str:
    """Return the path of a question's JSON Schema, from the folder of the reference."""
    return f"schemas/{question}.schema.json"


def _page(text: str) -> str:
    return f"{_MADE}\n\n{_GAP.sub(_PARAGRAPH, text.strip())}\n"


def _cli() -> str:
    parser = _parser([])
    (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    helps = {each.dest: each.help for each in commands._choices_actions}
    listed = table(
        ["command", "what it does"],
        ([f"[`{name}`](#kip848-{name})", helps[name]] for name in commands.choices),
    )
    return f"""# Command line

{listed}

Every command prints its help with `--help`. Exit codes: 0 done; 1 failed; 2 bad arguments or input, with one line for
the error and one for the way out; 130 after Ctrl-C. The jobs in `jobs/` take the same arguments for `spark-submit`:
`nightly_audit.py` those of `audit`, `ingest_topic.py` those of `audit` for a live topic, and `check_convergence.py`
those of `check`.

{"".join(_command(name, each) for name, each in commands.choices.items())}"""


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    shown = [each for each in parser._actions if each.dest != "help"]
    words = [_usage(each) for each in shown]
    usage = textwrap.fill(f"kip848 {name} {' '.join(words)}", 100, subsequent_indent="    ", break_on_hyphens=False)
    formatter = parser._get_formatter()
    rows = ([f"`{_spelled(each)}`", formatter._expand_help(each) + _choices(each)] for each in shown)
    return f"""## `kip848 {name}`

{parser.description}

```text
{usage}
```

{table(["argument", "meaning"], rows)}

"""


def _value(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _choices(action: argparse.Action) -> str:
    return f"; one of {', '.join(f'`{each}`' for each in action.choices)}" if action.choices else ""


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action)
    return action.option_strings[0] + ("" if action.nargs == 0 else f" {_value(action)}")


def _usage(action: argparse.Action) -> str:
    spelled = _spelled(action).replace(" ", "\N{NO-BREAK SPACE}")  # an option stays on one line with its value
    if action.required:
        return f"{spelled}..." if action.nargs == "+" else spelled
    return f"[{spelled}]..." if action.nargs == "*" else f"[{spelled}]"


def _tables() -> str:
    specs = {**DERIVED, **DEFAULT}.values()  # the log and the runs last
    listed = table(
        ["table", "rows", "columns"],
        ([f"[`{each.name}`](#{each.name})", each.comment, str(len(each.columns))] for each in specs),
    )
    return f"""# Tables

Each table is at `DIR/<name>`, and is partitioned by its column `cluster`. Any Delta reader can read it. A table
without rows does not exist. Times are in UTC. The columns carry these comments in Delta, too. The tables of record
types are on [their own page](records.md). [How it works](../how-it-works.md#what-a-row-knows) explains `history`.

{listed}

{"".join(_spec(each) for each in specs)}"""


def _records() -> str:
    specs = [each for name, each in TABLES.items() if name not in DEFAULT]
    listed = table(
        ["table", "rows", "columns"],
        ([f"[`{each.name}`](#{each.name})", each.comment, str(len(each.columns))] for each in specs),
    )
    return f"""# Record types

One table for each type of record, with the decoded fields as columns. They are views: `kip848 query` and
`create_views` decode them from the table `log`. `kip848 audit --record-tables` also writes them. `offset_commit` has
rows only after an audit with `--offset-commits`.

{listed}

{"".join(_spec(each) for each in specs)}"""


def _spec(spec: TableSpec) -> str:
    rows = ([f"`{each.name}`", _type(each), _unit(each), _comment(each)] for each in spec.columns)
    return f"""## `{spec.name}`

{spec.comment}. One row for each {", ".join(f"`{name}`" for name in spec.key)}.

{table(["column", "type", "unit", "meaning"], rows)}

"""


def _type(column: Column) -> str:
    return f"`{type_text(from_arrow_type(column.type))}`{', not null' if column.required else ''}"


def _unit(column: Column) -> str:
    if column.type == TIMESTAMP:
        return "UTC"
    return next((unit for end, unit in _UNITS.items() if column.name.endswith(end)), "")


def _comment(column: Column) -> str:
    """Return the comment without the field's Arrow type, which the column's type repeats."""
    return re.sub(r"^((?:Key|Value) field )(\w+) \(.*\)$", r"\1`\2`", column.comment)


def _expectations() -> str:
    settings = load_settings()
    listed = table(
        ["expectation", "what is expected", "severity", "limits"],
        (
            [
                f"[`{each.name}`](#{each.name})",
                each.description,
                settings[each.name].severity,
                ", ".join(f"`{name}` {value:,}" for name, value in settings[each.name].limits.items()),
            ]
            for each in EXPECTATIONS
        ),
    )
    return f"""# Expectations

`kip848 check` evaluates these {len(EXPECTATIONS)} expectations. Each is a SQL file in `kip848_records/expectations/`.
[Checks](../ci.md#limits-of-your-own) shows how to change limits, and
[Python and SQL](../python.md#an-expectation-of-your-own) how to add an expectation. The result `unknown` means that the
log does not show the answer: it neither passes nor fails. An expectation that had nothing to check is *not
applicable*: it has not passed.

{listed}

{"".join(_expectation(each) for each in EXPECTATIONS)}

## What the SQL may use

The SQL of an expectation may use the [tables](tables.md), `limits` with the limits of each group, the parameters
`:captured_at` and `:dialect` of the run, and `:now`.

{_shared_sql()}"""


def _diagnosis() -> str:
    patterns = [_pattern(name, has_entry=name in entries()) for name in SETTINGS]
    return f"""# Limits of the diagnosis

[`kip848 audit --config FILE`](../ci.md#limits-of-the-diagnosis) changes these limits of the table
[`diagnosis`](tables.md#diagnosis), for all groups or by patterns of group ids. Each pattern also has `{ENABLED}`:
`false` drops its rows. `audit_runs.diagnosis_limits` has what a run changed. Counts are whole numbers.

{"".join(patterns)}"""


def _pattern(name: str, *, has_entry: bool) -> str:
    rows = (
        [f"`{each}`", f"{setting.default:,}", setting.unit, setting.reason] for each, setting in SETTINGS[name].items()
    )
    parts = [
        f"## `{name}`",
        RULES[name],
        *_PATTERN_NOTES.get(name, ()),
        *([table(["limit", "default", "unit", "reason"], rows)] if SETTINGS[name] else []),
    ]
    parts += [f"The [runbook](../runbook.md#{name}) says what to do."] if has_entry else []
    return "\n\n".join([*parts, "", ""])


def _shared_sql() -> str:
    folder = files("kip848_records.queries")
    relations = (file for file in folder.joinpath("relations").iterdir() if file.name.endswith(".sql"))
    texts = {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in relations}
    functions = folder.joinpath("functions.sql").read_text(encoding="utf-8")
    listed = ([f"`{name}`", _first_comment(text)] for name, text in sorted(texts.items()))
    calls = ([f"`{call}`", _sentence(words)] for words, call in _FUNCTION.findall(functions))
    return f"{table(['relation', 'its rows'], listed)}\n\n{table(['function', 'what it returns'], calls)}"


def _sentence(words: str) -> str:
    text = " ".join(words.split())
    return text[0].upper() + text[1:]


def _expectation(each: Expectation) -> str:
    limits = [[f"`{name}`", f"{limit.default:,}", limit.unit, limit.reason] for name, limit in each.limits.items()]
    parts = [f"## `{each.name}`", f"{each.description}. Severity: {load_settings()[each.name].severity}."]
    parts += [table(["limit", "default", "unit", "reason"], limits)] if limits else []
    parts += [note] if (note := _first_comment(each.text)) else []
    parts += _needs(each)
    return "\n\n".join([*parts, f"The [runbook](../runbook.md#{each.name}) says what to do.", "", ""])


def _needs(each: Expectation | Question) -> list[str]:
    """Return what a text needs, and what it does not look for without more."""
    said = [f"No answer where {': '.join(filter(None, NEEDS[name][:2]))}." for name in each.needs]
    said += [f"Where {NEEDS[name].missing}, {text}." for name, text in each.without.items()]
    return [" ".join(said)] if said else []


def _questions() -> str:
    asked = questions()
    listed = table(["name", "question"], ([f"[`{each.name}`](#{each.name})", each.words] for each in asked.values()))
    shown = (
        "\n\n".join(
            [
                f"## `{each.name}`",
                " ".join(filter(None, [each.words, each.note])),
                *_needs(each),
                *_answer(each.name),
                f"```sql\n{each.sql}\n```",
                "",
                "",
            ]
        )
        for each in asked.values()
    )
    return f"""# Questions

`kip848 query DIR NAME` answers these {len(asked)} questions; `--csv` and `--json` are for programs. On a terminal
the columns that have no room follow their row, behind their titles; in a file or a pipe each row is one line, for
`grep` and `sort`. A question that the
tables cannot answer is refused (exit code 2), and an empty answer says what was looked at. Each is about one
cluster: if the tables have several, add `--cluster`. The SQL also runs in a notebook, on the
[views of one cluster](../python.md#questions-in-sql). The page [Tables](tables.md) has the columns.

{listed}

{"".join(shown)}"""


def _answer(question: str) -> list[str]:
    """Return the columns of an answer that has a schema."""
    if question not in ANSWERS:
        return []
    rows = ([f"`{each.name}`", _type(each), _unit(each), _comment(each)] for each in ANSWERS[question])
    schema = f"The [JSON Schema]({_schema(question)}) of a line that `--json` prints is made from these columns."
    return [table(["column", "type", "unit", "meaning"], rows), schema]


def _first_comment(sql: str) -> str:
    lines = sql.strip().splitlines()
    length = next((nth for nth, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return " ".join(line.removeprefix("--").strip() for line in lines[:length])


def main() -> None:
    """Write all pages."""
    for path, text in reference().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
