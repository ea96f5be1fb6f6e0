"""What the proposal promises of members, in logs of its draft: names or a regular expression, and sound assignors."""

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import DIALECTS
from kip848_records.specs.log_columns import TOPIC
from tests.expectations.logs import END, GARBAGE, PASS, UNKNOWN, VIOLATION

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
    "- m @0 error: expected a name and minimum >= -1, maximum >= 0, minimum <= version <= maximum, "
    "seen ('{name}', {low}, {high}, {version})"
)
BOTH = "- m @0 error: expected names or a regular expression, seen ('t',) and t.*"
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
            "rebalance_time": "1 - @1 warn: expected to converge within 15 min, ongoing for ≥ 0 s (member joined): "
            "The log does not show which member it waits for",
            "revocation_time": "1 m @3 warn: expected to revoke partitions within its rebalance timeout of ?, has "
            "been asked to for 0 s",
        }.items()
    },
    ("target_covers_topics", "in one record"): (
        PASS,
        [
            (4, {"epoch": 1, "topics": [{**TOPICS, "numPartitions": 2}]}),
            (3, {"epoch": 1}),
            (6, {"assignmentEpoch": 1, "members": [TARGET]}),
        ],
        None,
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


def rows():
    """All logs as rows of the Kafka source, each in a partition of its own."""
    logs = enumerate(CASES.items())
    return [row for partition, ((_, group), (_, log, _)) in logs for row in rows_of(group, partition, log)]
