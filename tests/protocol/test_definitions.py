"""Our record definitions against the JSON inside Kafka's own jars: every release, version and field."""

import json
import re
from copy import deepcopy
from typing import Any
from zipfile import ZipFile

import pytest

from kip848_records.protocol.messages import DIALECTS, KAFKA, Dialect
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from kip848_records.protocol.schema import NO_UUID, Array, Layout, Message, Struct, Type, Versions
from tests.downloads import UnavailableError
from tests.maven_jars import fetch

pytestmark = pytest.mark.slow  # Ivy fetches the jars

Definition = dict[str, Any]
RELEASES = {
    "3.5.2": "kip-848",
    "3.6.2": "kafka-3.7",
    "3.7.2": "kafka-3.7",
    **dict.fromkeys(("3.8.1", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.1", "4.4.0"), KAFKA.name),
}
NEWEST = list(RELEASES)[-1]
# Since 4.1 type 0 has a record of its own, of version 0 alone; before, it took all versions of the offset commits.
LEGACY = "LegacyOffsetCommit"


def definitions(module: str, release: str) -> dict[str, Definition]:
    """The message definitions of a module by name."""
    try:
        (jar,) = fetch(module, release)
    except UnavailableError as error:
        pytest.skip(str(error))
    with ZipFile(jar) as opened:
        files = [name for name in opened.namelist() if re.fullmatch(r"common/message/\w+\.json", name)]
        texts = [re.sub(r"(?m)^\s*//.*$", "", opened.read(name).decode()) for name in files]
    return {definition["name"]: definition for definition in map(json.loads, texts)}


def differences(theirs: dict[str, Definition], dialect: Dialect, *, newest: bool) -> list[str]:
    """Where the records of a release and ours differ, in words."""
    found = []
    for name in sorted(name.removesuffix("Value") for name in theirs if name.endswith("Value")):
        key, value = theirs[f"{name}Key"], theirs[f"{name}Value"]
        # Before Kafka 4.1 a key's version was its type; the offset commits had the versions 0 and 1.
        types = {key["apiKey"]} if "apiKey" in key else versions(key["validVersions"])
        for key_type in sorted(types):
            ours = [r for r in dialect.by_type.get(key_type, ()) if r.name == name.removeprefix("Legacy")]
            if not ours:
                found.append(f"{name}: no record of ours has this name and type {key_type}")
                continue
            key_lines = their_lines(key, key_type if "apiKey" not in key else 0)
            found += compare(f"{name} key", key_lines, our_lines(ours[0].key_layout), newest=True)
            layouts = [compare_values(name, value, message, newest=newest) for message in ours[0].values]
            found += min(layouts, key=len)
    return found


def compare_values(name: str, theirs: Definition, ours: Message, *, newest: bool) -> list[str]:
    theirs_in = versions(theirs["validVersions"])
    if theirs_in != set(ours.layouts) and not (name == LEGACY and theirs_in <= set(ours.layouts)):
        return [f"{name} has the versions {theirs['validVersions']}, ours {ours.versions}"]
    found = []
    for version in theirs_in:
        layout = ours.layouts[version]
        if (version in Versions.parse(theirs["flexibleVersions"])) != layout.flexible:
            found.append(f"{name} version {version} is flexible for one of us only")
        found += compare(f"{name} version {version}", their_lines(theirs, version), our_lines(layout), newest=newest)
    return found


def compare(what: str, theirs: list[str], ours: list[str], *, newest: bool) -> list[str]:
    """Older releases may lack tagged fields that later ones added."""
    missing = [line for line in theirs if line not in ours]
    extra = [line for line in ours if line not in theirs]
    if not newest:
        added = [line.split()[0] for line in extra if " tag " in line]
        extra = [line for line in extra if not any(f"{line.split()[0]}.".startswith(f"{name}.") for name in added)]
    common = [line for line in ours if line in theirs]
    order = [] if missing or common == theirs else [f"{what}: the fields are in another order"]
    lacks = [f"{what}: ours lacks {line}" for line in missing]
    return [*lacks, *(f"{what}: ours alone has {line}" for line in extra), *order]


def versions(text: str) -> set[int]:
    parsed = Versions.parse(text)
    return set(range(parsed.low, parsed.high + 1))


def their_lines(definition: Definition, version: int) -> list[str]:
    structs = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}

    def lines(fields: list[Definition], path: str) -> list[str]:
        found = []
        for field in fields:
            if version not in Versions.parse(field.get("versions", "0+")):
                continue
            kind, name = field["type"], path + lower_camel(field["name"])
            inner = field.get("fields", structs.get(kind.removeprefix("[]")))
            shown = kind if inner is None else "[]struct" if kind.startswith("[]") else "struct"
            nullable = version in Versions.parse(field.get("nullableVersions", "none"))
            found.append(line(name, shown, field.get("tag"), nullable=nullable, default=their_default(field, inner)))
            found += lines(inner or [], f"{name}.")
        return found

    return lines(definition["fields"], "")


def their_default(field: Definition, inner: list[Definition] | None) -> Any:
    """As Kafka's generator takes it: without quotes, null is as good as no default at all."""
    kind, default = field["type"], field.get("default")
    if default == "null":
        return None
    if kind.startswith("[]"):
        return []
    if inner is not None:
        return {lower_camel(field["name"]): their_default(field, field.get("fields")) for field in inner}
    if kind == "uuid":
        return NO_UUID
    return int(default or 0) if "int" in kind else default


def lower_camel(name: str) -> str:
    return name[0].lower() + name[1:]


def our_lines(layout: Layout) -> list[str]:
    def lines(kind: Type, path: str) -> list[str]:
        if isinstance(kind, Array):
            return lines(kind.element, path)
        found = []
        for field in [*layout.positional(kind), *layout.tagged(kind).values()] if isinstance(kind, Struct) else []:
            name, nullable = path + field.name, layout.nullable(field)
            found.append(line(name, shape(field.type), field.tag, nullable=nullable, default=field.default))
            found += lines(field.type, f"{name}.")
        return found

    return lines(layout.struct, "")


def shape(kind: Type) -> str:
    if isinstance(kind, Array):
        return f"[]{shape(kind.element)}"
    return "struct" if isinstance(kind, Struct) else kind.name


def line(name: str, kind: str, tag: int | None, *, nullable: bool, default: Any) -> str:
    """Defaults matter in the tagged section alone: there they are what an absent field means."""
    tagged = "" if tag is None else f" tag {tag} default {default}"
    return f"{name} {kind}{' or null' * nullable}{tagged}"


@pytest.mark.parametrize("release", RELEASES)
def test_every_record_of_a_release(release: str):
    theirs = definitions("kafka-group-coordinator", release)
    assert len(theirs) >= 16
    assert differences(theirs, DIALECTS[RELEASES[release]], newest=release == NEWEST) == []


def test_the_embedded_consumer_protocol():
    theirs = definitions("kafka-clients", NEWEST)
    for message in (CONSUMER_PROTOCOL_SUBSCRIPTION, CONSUMER_PROTOCOL_ASSIGNMENT):
        name = "ConsumerProtocol" + ("Assignment" if message is CONSUMER_PROTOCOL_ASSIGNMENT else "Subscription")
        assert compare_values(name, theirs[name], message, newest=True) == []


def changed(theirs: dict[str, Definition], change: str) -> None:
    value = theirs["ConsumerGroupCurrentMemberAssignmentValue"]
    fields = value["fields"]
    match change:
        case "field":
            fields.append({"name": "Lag", "type": "int64", "versions": "0+"})
        case "tagged field":
            fields.append({"name": "Lag", "type": "int64", "versions": "0+", "taggedVersions": "0+", "tag": 3})
        case "type":
            fields[0]["type"] = "int64"
        case "nullable":
            fields[3]["nullableVersions"] = "0+"
        case "order":
            fields[:2] = fields[1::-1]
        case "version":
            value["validVersions"] = "0-1"
        case "record":
            theirs["NewKey"] = theirs["ConsumerGroupMetadataKey"] | {"name": "NewKey", "apiKey": 99}
            theirs["NewValue"] = value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("field", "version 0: ours lacks lag int64"),
        ("tagged field", "version 0: ours lacks lag int64 tag 3 default 0"),
        ("type", "version 0: ours lacks memberEpoch int64"),
        ("nullable", "version 0: ours lacks assignedPartitions []struct or null"),
        ("order", "version 0: the fields are in another order"),
        ("version", "has the versions 0-1, ours 0"),
        ("record", "New: no record of ours has this name and type 99"),
    ],
)
def test_what_a_release_has_and_we_do_not_is_named(change: str, words: str):
    theirs = deepcopy(definitions("kafka-group-coordinator", NEWEST))
    changed(theirs, change)
    found = differences(theirs, KAFKA, newest=True)
    assert any(words in difference for difference in found), found
