"""What the proposal promises of members, in logs of its draft: names or a regular expression, and sound assignors."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import DIALECTS
from kip848_records.quality import EXPECTATIONS
from kip848_records.simulate.encoding import TOPIC
from kip848_records.simulate.log import KAFKA_ROWS
from tests.quality.logs import END, GARBAGE, PASS, UNKNOWN, VIOLATION, line

DIALECT = "kip-848-draft"
ASSIGNOR = {"name": "a", "minimumVersion": -1, "maximumVersion": 2, "reason": 0, "version": 1, "metadata": b""}
MEMBER = {
    "groupEpoch": 1,
    "instanceId": None,
    "rackId": None,
    "clientId": "c",
    "clientHost": "/h",
    "subscribedTopicNames": ["t"],
    "subscribedTopicRegex": None,
    "assignors": [ASSIGNOR],
}
TOPICS = {"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitions": [0, 1]}
TARGET = {"memberId": "m", "error": 0, "topicPartitions": [TOPICS], "version": 1, "metadata": b""}
WRONG_ASSIGNOR = (
    "1 m @0 error: expected an assignor with a name and minimum >= -1, maximum >= 0, minimum <= version <= maximum, "
    'seen {{"name":"{name}","minimum_version":{low},"maximum_version":{high},'
    '"reason":0,"version":{version},"metadata":""}}'
)
BOTH = '1 m @0 error: expected names or a regular expression, seen ["t"] and t.*'
LOST = "- - @0 error: the record does not decode: value: a field runs past the end"


WITHOUT_STATES = [
    (5, MEMBER),
    (3, {"epoch": 1}),
    (6, {"assignmentEpoch": 1, "members": [TARGET]}),
    (7, {"memberEpoch": 1, "error": 0, "topicPartitions": [TOPICS], "metadataVersion": 1, "metadataBytes": b""}),
]


def member(**fields):
    return [(5, {**MEMBER, **fields})]


def assignor(**fields):
    return member(assignors=[{**ASSIGNOR, **fields}, ASSIGNOR])


def wrong_assignor(name="a", low=-1, high=2, version=1):
    return WRONG_ASSIGNOR.format(name=name, low=low, high=high, version=version)


CASES = {
    ("names_or_regex", "both"): (VIOLATION, member(subscribedTopicRegex="t.*"), BOTH),
    ("names_or_regex", "names"): (PASS, member(), None),
    ("names_or_regex", "names, and an empty expression"): (PASS, member(subscribedTopicRegex=""), None),
    ("names_or_regex", "expression"): (PASS, member(subscribedTopicNames=[], subscribedTopicRegex="t.*"), None),
    ("names_or_regex", "damaged"): (UNKNOWN, [(5, GARBAGE)], LOST),
    ("assignor_versions", "no name"): (VIOLATION, assignor(name=""), wrong_assignor(name="")),
    ("assignor_versions", "low"): (VIOLATION, assignor(minimumVersion=-2), wrong_assignor(low=-2)),
    ("assignor_versions", "high"): (
        VIOLATION,
        assignor(maximumVersion=-1, version=-1),
        wrong_assignor(high=-1, version=-1),
    ),
    ("assignor_versions", "below"): (VIOLATION, assignor(minimumVersion=2), wrong_assignor(low=2)),
    ("assignor_versions", "above"): (VIOLATION, assignor(version=3), wrong_assignor(version=3)),
    ("assignor_versions", "sound"): (PASS, assignor(minimumVersion=0, maximumVersion=0, version=0), None),
    ("assignor_versions", "damaged too"): (UNKNOWN, [(5, GARBAGE)], LOST),
    **{
        (rule, f"without states: {rule}"): (UNKNOWN, WITHOUT_STATES, found)
        for rule, found in {
            "rebalance_lag": "1 - @1 error: expected to converge within 900 s, has not converged for 0 s "
            "(member_joined)",
            "rebalance_lag_p95": "- - @- warn: expected 95 % of epochs to converge within 120 s, took up to ? s (95th "
            "percentile of 0 observed epochs)",
            "revocation_time": "1 m @3 warn: expected to give up partitions within its rebalance timeout of ? s, has "
            "been asked to for 0 s",
        }.items()
    },
    ("target_covers_topics", "in one record"): (
        UNKNOWN,
        [
            (4, {"epoch": 1, "topics": [{**TOPICS, "numPartitions": 2}]}),
            (3, {"epoch": 1}),
            (6, {"assignmentEpoch": 1, "members": [TARGET]}),
        ],
        "1 - @2 error: expected every partition in one target, the log has them in the record of the assignment",
    ),
}


def rows_of(group, partition, records):
    for offset, (key_type, value) in enumerate(records):
        record = DIALECTS[DIALECT].by_type[key_type][0]
        is_raw = isinstance(value, bytes)
        yield {
            "key": encode_key(record, {"groupId": group, "memberId": "m"}),
            "value": value if is_raw else encode_message(record.value_layouts(0)[0], value),
            "topic": TOPIC,
            "partition": partition,
            "offset": offset,
            "timestamp": END * 1000,
            "timestampType": 0,
        }


@pytest.fixture(scope="module")
def results(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("early")
    logs = enumerate(CASES.items())
    rows = [row for partition, ((_, group), (_, log, _)) in logs for row in rows_of(group, partition, log)]
    pq.write_table(pa.Table.from_pylist(rows, KAFKA_ROWS), folder / "log.parquet")
    out = str(folder / "out")
    run_audit(spark, AuditOptions((str(folder / "log.parquet"),), out, dialect=DIALECT), print)
    rules = {rule for rule, _ in CASES}
    wanted = [each for each in EXPECTATIONS if each.name in rules]
    return {result.name: result for result in check(spark, out, load_settings(), expectations=wanted).results}


@pytest.mark.parametrize(("rule", "group"), CASES)
def test_what_becomes_of_a_group(results, rule, group):
    verdict, _, found = CASES[rule, group]
    violations = [line(each) for each in results[rule].violations if each.group_id == group]
    unknown = [line(each) for each in results[rule].unknown if each.group_id == group]
    assert violations == ([found] if verdict == VIOLATION else [])
    assert unknown == ([found] if verdict == UNKNOWN else [])


def test_what_passes_has_been_looked_at(results):
    """Every member that decodes has names or an expression, and one assignor, or two where the first is told of."""
    members = [log for (_, log, _) in CASES.values() if log[0][0] == 5 and log[0][1] != GARBAGE]
    assert results["names_or_regex"].passed == len(members) - 1
    wrong = [
        found for (rule, _), (_, _, found) in CASES.items() if rule == "assignor_versions" and found not in (None, LOST)
    ]
    assert len(results["assignor_versions"].violations) == len(wrong)
    assert results["assignor_versions"].passed == sum(len(log[0][1]["assignors"]) for log in members) - len(wrong)
