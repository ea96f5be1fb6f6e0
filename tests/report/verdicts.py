"""Made-up verdicts: small ones that a test can read, and hostile ones."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from kip848_records.expectations.results import Finding, NotApplicable, Result, Verdict

CAPTURED = datetime(2026, 11, 21, 8, 18, 46, 358_000, UTC)
MEMBER = "AO+GgHMxReaKGwL+kgwOyw"
STUCK = "expected Stable within 15 s, has been Reconciling for 28 s"


def finding(severity="error", **other):
    one = Finding("demo", "payments", 7, MEMBER, 3, 1234, severity, STUCK)
    return replace(one, **other)


def result(name, found=(), unknown=(), **counts):
    """The counts are those of what was found, and 10 that passed, unless they are given."""
    severities = [one.severity for one in found]
    counted = {"errors": severities.count("error"), "warnings": severities.count("warn"), "unknowns": len(unknown)}
    says = f"what {name} expects"
    return Result(
        name, says, "error", violations=tuple(found), unknown=tuple(unknown), **{"passed": 10, **counted, **counts}
    )


def nothing(name, reason="no streams group", way_out=None, need=None, **other):
    """A result that checked nothing."""
    why = {"demo": NotApplicable(reason, way_out, need)}
    return replace(result(name, passed=0), not_applicable=why, **other)


def verdict(*results, captured_at=None):
    return Verdict("out/tables", {"demo": CAPTURED} if captured_at is None else captured_at, results)


NOWHERE = finding(
    "warn", group_id=None, group_epoch=None, member_id=None, partition=None, offset=None, message="no records"
)

ALL = verdict(
    result("group_stable", [finding(), finding("warn", member_id=None)], errors=31, warnings=2),
    result("rebalance_time", [finding("warn", message="slow")], unknown=[finding(message="log begins later")]),
    result("one_owner", unknown=[finding(message="compacted away")], unknowns=5),
    result("epochs_rise"),
)
"""One of each status: fail, warn, unknown, pass."""

HOSTILE = [
    "a|b",
    "`code` ``two``",
    "*bold* _it_ ~~gone~~",
    "<script>alert(1)</script><!-- &amp; -->",
    "@octocat see #123, GH-1 and owner/repo#4",
    "[text](https://example.com) https://example.com www.example.com",
    "two\nlines\r\n\tand \x00 \x1b[31m \x85 \u2028",
    "'quotes\" ]]> \\",
    "\N{PILE OF POO} \N{RIGHT-TO-LEFT OVERRIDE} \ufffe",
    " spaces around ",
    "$x^2$ :smile: - [ ] 1. # > ",
    "x" * 249,
    "",
]
"""What a group id may be."""

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""The characters that change the direction of text: with them an id looks like another one."""

# Latin, with every control character, and one or two of what else is special; punctuation most often. Kafka's strings
# are UTF-8, so that there are no lone surrogates. A list, for Hypothesis takes seconds to sort all of Unicode.
CHARACTERS = [*map(chr, range(0x180)), *"\u4e2d\u0e01\u0301\u200d\u2028\u202e\ue000\ufeff\ufffe\U0001f4a9\U000e0001"]
PUNCTUATION = list("|`*_~<>&@#[]()!\\'\"\n\r\t$:/.-+ ")
ids = st.sampled_from(HOSTILE) | st.lists(st.sampled_from(PUNCTUATION) | st.sampled_from(CHARACTERS), max_size=12).map(
    "".join
)
numbers = st.none() | st.integers(0, 2**31 - 1)
findings = st.builds(
    Finding,
    cluster=ids,
    group_id=st.none() | ids,
    group_epoch=numbers,
    member_id=st.none() | ids,
    partition=numbers,
    offset=numbers,
    severity=st.sampled_from(["error", "warn"]),
    message=ids,
)


@st.composite
def verdicts(draw):
    """Verdicts of a few expectations, whose counts may be higher than what they list."""
    names = draw(st.lists(st.sampled_from(["group_stable", "rebalance_time", "one_owner"]), unique=True))
    made = []
    for name in names:
        found, unknown = draw(st.lists(findings, max_size=3)), draw(st.lists(findings, max_size=2))
        hidden = draw(st.integers(0, 2_000)) if found else 0
        severities = [one.severity for one in found]
        errors, warnings = severities.count("error"), severities.count("warn") + hidden
        made.append(result(name, found, unknown, errors=errors, warnings=warnings))
    clusters = {one.cluster for each in made for one in [*each.violations, *each.unknown]}
    return verdict(*made, captured_at=dict.fromkeys(sorted(clusters), CAPTURED))
