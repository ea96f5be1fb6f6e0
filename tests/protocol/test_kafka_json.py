"""Odd values are printed as `kafka-dump-log --offsets-decoder` of Kafka 4.3.1 printed them.

The expected texts were copied from its output for segments that held these very records.
"""

import struct
from base64 import b64decode, b64encode

import pyarrow as pa
import pytest

from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.decoded_rows import typed_records
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.kafka_json import key_json, value_json
from kip848_records.protocol.messages import RECORDS
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

UUID = "AAECAwQFBgcICQoLDA0O_w"


def group_of(key_type, key, value, version=0):
    record = RECORDS[key_type]
    layout = record.value_layouts(version)[0]
    keys, values = pa.array([encode_key(record, key)]), pa.array([encode_message(layout, value)])
    (group,) = decode_records(keys, values).groups
    return group


def printed(*args, **kwargs):
    return value_json(group_of(*args, **kwargs))[0].as_py()


# --- the embedded consumer protocol ---


def subscription(version, **changed):
    """A subscription that says it is of `version`, laid out as the nearest version that exists."""
    message = {
        "topics": ["t"],
        "userData": None,
        "ownedPartitions": [{"topic": "t", "partitions": [1, -2]}],
        "generationId": -1,
        "rackId": None,
    }
    return embedded(CONSUMER_PROTOCOL_SUBSCRIPTION, version, message | changed)


def assignment(version, **changed):
    message = {"assignedPartitions": [{"topic": "t", "partitions": [0]}], "userData": None}
    return embedded(CONSUMER_PROTOCOL_ASSIGNMENT, version, message | changed)


def embedded(message, version, value):
    return struct.pack(">h", version) + encode_message(message.at(min(max(version, 0), 3)), value)[2:]


def classic_group(*members, protocol_type="consumer"):
    fixed = {"groupInstanceId": None, "clientId": "", "clientHost": "/h", "rebalanceTimeout": -1, "sessionTimeout": -5}
    return {
        "protocolType": protocol_type,
        "generation": -3,
        "protocol": "range",
        "leader": "",
        "currentStateTimestamp": -1,
        "members": [
            {"memberId": "m", **fixed, "subscription": of_member, "assignment": to_member}
            for of_member, to_member in members
        ],
    }


def group_text(*members, protocol_type="consumer"):
    fixed = '"groupInstanceId":null,"clientId":"","clientHost":"/h","rebalanceTimeout":-1,"sessionTimeout":-5'
    inner = ",".join(f'{{"memberId":"m",{fixed},"subscription":{one},"assignment":{two}}}' for one, two in members)
    head = f'"protocolType":"{protocol_type}","generation":-3,"protocol":"range","leader":"","currentStateTimestamp":-1'
    return f'{{{head},"members":[{inner}]}}'


def base64(data):
    return f'"{b64encode(data).decode()}"'


V0 = '{"topics":["t"],"userData":null}'
V1 = V0[:-1] + ',"ownedPartitions":[{"topic":"t","partitions":[1,-2]}]}'
V2 = V1[:-1] + ',"generationId":-1}'
V3 = V2[:-1] + ',"rackId":null}'
ASSIGNED = '{"assignedPartitions":[{"topic":"t","partitions":[0]}],"userData":null}'
NULL_ARRAY = b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
KAFKA_GO = b64decode("AAEAAAABAA1vcmRlcl9jcmVhdGVk/////w==")
"""A subscription of segmentio/kafka-go: of version 1, which has `ownedPartitions`."""

EMBEDDED = {
    "version 0": (subscription(0), assignment(0), V0, ASSIGNED),
    "version 1": (subscription(1), assignment(1), V1, ASSIGNED),
    "version 2": (subscription(2), assignment(2), V2, ASSIGNED),
    "version 3": (subscription(3), assignment(3), V3, ASSIGNED),
    "a rack": (subscription(3, rackId="r"), assignment(3), V3.replace('"rackId":null', '"rackId":"r"'), ASSIGNED),
    "later versions are not parsed": (subscription(4), assignment(4), None, None),
    "much later versions": (subscription(100), assignment(32767), None, None),
    "versions below 0 are read as 0": (subscription(-1), assignment(-1), V0, ASSIGNED),
    "far below 0": (subscription(-32768), assignment(-32768), V0, ASSIGNED),
    "trailing bytes are not looked at": (subscription(3) + b"xx", assignment(3) + b"\0", V3, ASSIGNED),
    "trailing bytes, version 0": (subscription(0) + b"xx", assignment(0) + b"\0", V0, ASSIGNED),
    "cut off": (subscription(3)[:-1], assignment(3)[:-1], None, None),
    "empty": (b"", b"", None, None),
    "half a version": (b"\0", b"\0", None, None),
    "a version and no more": (b"\0\0", b"\0\3", None, None),
    "user data": (
        subscription(3, userData=b"\xff\xfe"),
        assignment(3, userData=b""),
        V3.replace('"userData":null', '"userData":"//4="'),
        ASSIGNED.replace('"userData":null', '"userData":""'),
    ),
    "one of the two": (subscription(3), b"\0\3bad", V3, None),
    "the other": (b"\0\3bad", assignment(3), None, ASSIGNED),
    "null where it may not be": (NULL_ARRAY, NULL_ARRAY, None, None),
}
SHORT = {
    "kafka-go": (
        KAFKA_GO,
        assignment(1)[:-4],
        '{"topics":["order_created"],"userData":null,"endsBefore":"ownedPartitions"}',
        ASSIGNED.replace('"userData":null', '"endsBefore":"userData"'),
    ),
    "before generationId": (subscription(2)[:-4], b"", V1[:-1] + ',"endsBefore":"generationId"}', None),
    "before rackId": (subscription(3)[:-2], b"", V2[:-1] + ',"endsBefore":"rackId"}', None),
    "topics alone": (subscription(0)[:-4], b"", '{"topics":["t"],"endsBefore":"userData"}', None),
    "no topic": (
        b"\0\1\0\0\0\0",
        b"\0\0\0\0\0\0",
        '{"topics":[],"endsBefore":"userData"}',
        '{"assignedPartitions":[],"endsBefore":"userData"}',
    ),
    "cut in ownedPartitions": (subscription(1)[:-1], b"", None, None),
    "cut in a topic": (KAFKA_GO[:12], b"", None, None),
    "a topic that is not UTF-8": (KAFKA_GO.replace(b"order", b"\xffrder"), b"", None, None),
}


@pytest.mark.parametrize("case", [*EMBEDDED, *SHORT])
def test_consumer_protocol(case):
    """The short ones are printed with what they have; Kafka's tool prints them as base64."""
    one, two, one_text, two_text = (EMBEDDED | SHORT)[case]
    expected = group_text((one_text or base64(one), two_text or base64(two)))
    assert printed(2, {"group": "g"}, classic_group((one, two)), version=3) == expected


def test_members_do_not_mix():
    """All members of all groups are parsed together."""
    cases = [*EMBEDDED.values(), *SHORT.values()]
    members = [(one, two) for one, two, _, _ in cases]
    texts = [(first or base64(one), second or base64(two)) for one, two, first, second in cases]
    assert printed(2, {"group": "g"}, classic_group(*members), version=3) == group_text(*texts)


@pytest.mark.parametrize("protocol_type", ["connect", "", "Consumer", "consumer\\u0000"])
def test_other_protocol_types(protocol_type):
    one, two = subscription(3), assignment(3)
    value = classic_group((one, two), protocol_type=protocol_type.replace("\\u0000", "\0"))
    expected = group_text((base64(one), base64(two)), protocol_type=protocol_type)
    assert printed(2, {"group": "g"}, value, version=3) == expected


def test_groups_of_both_kinds_in_a_batch():
    layout = RECORDS[2].value_layouts(3)[0]
    member = (subscription(3), assignment(3))
    kinds = ["consumer", "connect", "connect", "consumer", ""]
    values = [encode_message(layout, classic_group(member, protocol_type=kind)) for kind in kinds]
    (group,) = decode_records(pa.array([encode_key(RECORDS[2], {"group": "g"})] * len(kinds)), pa.array(values)).groups
    plain = tuple(map(base64, member))
    expected = [group_text((V3, ASSIGNED) if kind == "consumer" else plain, protocol_type=kind) for kind in kinds]
    assert value_json(group).to_pylist() == expected


# --- values ---


ODD = "\"\\/\x00\x01\b\t\n\f\r\x1f\x7f\x80\x85\u2028\u2029\ufeff\ufffe😀é</script>&'\u0600"
ODD_TEXT = '"\\"\\\\/\\u0000\\u0001\\b\\t\\n\\f\\r\\u001F\x7f\x80\x85\u2028\u2029\ufeff\ufffe😀é</script>&\'\u0600"'


def test_strings():
    group = group_of(2, {"group": ODD}, classic_group(protocol_type=ODD), version=3)
    assert key_json(group)[0].as_py() == f'{{"group":{ODD_TEXT}}}'
    assert value_json(group)[0].as_py() == group_text(protocol_type=ODD_TEXT[1:-1])


@pytest.mark.parametrize("code", range(0x20))
def test_control_characters(code):
    short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    escape = short.get(chr(code), f"\\u{code:04X}")
    key = key_json(group_of(3, {"groupId": f"a{chr(code)}b"}, {"epoch": 1}))[0].as_py()
    assert key == f'{{"groupId":"a{escape}b"}}'


def test_nulls_empty_strings_and_negative_numbers():
    member = {
        "instanceId": None,
        "rackId": "",
        "clientId": "",
        "clientHost": "",
        "subscribedTopicNames": ["", ODD],
        "subscribedTopicRegex": None,
        "rebalanceTimeoutMs": -1,
        "serverAssignor": None,
        "classicMemberMetadata": {
            "sessionTimeoutMs": -1,
            "supportedProtocols": [{"name": "", "metadata": b"\xff\xfb"}],
        },
    }
    head = '{"instanceId":null,"rackId":"","clientId":"","clientHost":"","subscribedTopicNames":'
    tail = ',"subscribedTopicRegex":null,"rebalanceTimeoutMs":-1,"serverAssignor":null,"classicMemberMetadata":'
    key = {"groupId": "", "memberId": ""}
    metadata = '{"sessionTimeoutMs":-1,"supportedProtocols":[{"name":"","metadata":"//s="}]}'
    assert printed(5, key, member) == f'{head}["",{ODD_TEXT}]{tail}{metadata}}}'
    consumer = member | {"subscribedTopicNames": [], "classicMemberMetadata": None}
    assert printed(5, key, consumer) == f"{head}[]{tail}null}}"


@pytest.mark.parametrize(
    ("topic", "text"),
    [({}, ""), ({"assignmentEpochs": []}, ""), ({"assignmentEpochs": [-1]}, ',"assignmentEpochs":[-1]')],
)
def test_tagged_fields(topic, text):
    """The tool prints `"assignmentEpochs":null` for a null that was written, as no broker does; ours leaves it out."""
    topics = [{"topicId": UUID, "partitions": [], **topic}]
    head = {"memberEpoch": -2, "previousMemberEpoch": -1, "state": 127}
    value = head | {"assignedPartitions": topics, "partitionsPendingRevocation": []}
    assert printed(8, {"groupId": "", "memberId": ""}, value) == (
        '{"memberEpoch":-2,"previousMemberEpoch":-1,"state":127,"assignedPartitions":[{"topicId":"'
        f'{UUID}","partitions":[]{text}}}],"partitionsPendingRevocation":[]}}'
    )


def test_tagged_numbers_and_uuids():
    epoch = {"epoch": -1, "metadataHash": -(2**63)}
    assert printed(3, {"groupId": ""}, epoch) == '{"epoch":-1,"metadataHash":-9223372036854775808}'
    commit = {"offset": -1, "leaderEpoch": -1, "metadata": "", "commitTimestamp": -1, "topicId": UUID}
    text = f'{{"offset":-1,"leaderEpoch":-1,"metadata":"","commitTimestamp":-1,"topicId":"{UUID}"}}'
    assert printed(1, {"group": "g", "topic": "", "partition": -1}, commit, version=4) == text


def test_nullable_struct():
    member = {"instanceId": None, "rackId": None, "clientId": "", "clientHost": "", "rebalanceTimeoutMs": 1}
    head = '{"instanceId":null,"rackId":null,"clientId":"","clientHost":"","rebalanceTimeoutMs":1,"topologyEpoch":1'
    for endpoint, text in ((None, "null"), ({"host": "", "port": 65535}, '{"host":"","port":65535}')):
        value = member | {"topologyEpoch": 1, "processId": "", "userEndpoint": endpoint, "clientTags": []}
        expected = f'{head},"processId":"","userEndpoint":{text},"clientTags":[]}}'
        assert printed(19, {"groupId": "", "memberId": ""}, value) == expected


def test_tombstone():
    batch = decode_records(pa.array([encode_key(RECORDS[3], {"groupId": "g"})]), pa.array([None], pa.binary()))
    assert value_json(batch.groups[0]).to_pylist() == [None]


# --- typed records ---


def test_typed_records_have_what_members_embed_beside_its_bytes():
    """One text for each member, also of a payload that is short; none for other protocols and tombstones."""
    layout, key = RECORDS[2].value_layouts(3)[0], encode_key(RECORDS[2], {"group": "g"})
    cases = [*EMBEDDED.values(), *SHORT.values()]
    members = [(one, two) for one, two, _, _ in cases]
    groups = [([members[0]], "connect"), (members, "consumer"), ([], "consumer"), (members[:2], "consumer")]
    values = [encode_message(layout, classic_group(*of, protocol_type=kind)) for of, kind in groups]
    values.append(None)
    types = {"partition": pa.int32(), "offset": pa.int64(), "timestamp": TIMES}
    columns = {name: pa.nulls(len(values), kind) for name, kind in types.items()}
    columns["key"] = pa.array([key] * len(values))
    batch = pa.RecordBatch.from_pydict(columns | {"value": pa.array(values, pa.binary())})
    rows = [row for found in typed_records("group_metadata", "kafka", [batch]) for row in found.to_pylist()]
    texts = [(one_text or base64(one), two_text or base64(two)) for one, two, one_text, two_text in cases]
    for side, name in enumerate(("subscription", "assignment")):
        said = {(len(row["members"] or ()), row["protocol_type"]): row[f"members_{name}"] for row in rows}
        assert said == {
            (1, "connect"): None,
            (0, None): None,
            (len(cases), "consumer"): [each[side] for each in texts],
            (0, "consumer"): [],
            (2, "consumer"): [each[side] for each in texts[:2]],
        }
        assert [len(row["members"]) for row in rows if row[f"members_{name}"] is not None] == [len(cases), 0, 2]
