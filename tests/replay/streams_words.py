"""Records of streams groups in the words of a story.

``19 a`` is member a of the process a, ``19 a $p`` of the process p. ``@i`` is its instance id, ``~1`` its topology
epoch, ``/clientHost=h`` any field of text, ``/endpoint=h`` the host of its endpoint, ``/tags=v`` the value of a tag.
``17 2`` is group epoch 2 without a validated topology, ``17 2 ?0`` with the validated topology epoch 0,
``17 2 ?-`` of Kafka before 4.2, which does not write it.
``23 0 /in`` is a topology of the subtopology s0, which reads the topic in. ``21 a +0+1 &2`` are a's active tasks 0
and 1, and its standby 2.
``22 a 2 1 +0 &2 !1`` has the states of a type 8, and the active task 1 that it must revoke.
"""

from typing import Any

_CONFIGS = [{"key": "num.standby.replicas", "value": "1"}]
_STATE_OFFSET = 1


def value_of(kind: str, words: list[str]) -> dict[str, Any]:
    signs = {word[0]: word for word in words if not word.lstrip("-").isdigit()}
    numbers = [int(word) for word in words if word.lstrip("-").isdigit()]
    match kind:
        case "17":
            return {"epoch": numbers[0], "metadataHash": int(signs.get("#", "#0")[1:]), **_validated(signs)}
        case "19":
            topology_epoch = int(signs.get("~", "~0")[1:])
            instance_id = signs.get("@", "@")[1:] or None
            given = {"clientId": "app", "instanceId": instance_id, "topologyEpoch": topology_epoch}
            return {**given, "processId": signs.get("$", "$")[1:], **_fields(words)}
        case "20":
            return {"assignmentEpoch": numbers[0]}
        case "21":
            return _tasks(signs)
        case "22":
            epoch, state = (*numbers, 0)[:2]
            revoked = {"activeTasksPendingRevocation": _parts(signs.get("!", ""))}
            previous = {"previousMemberEpoch": int(signs["<"][1:])} if "<" in signs else {}
            return {"memberEpoch": epoch, "state": state + _STATE_OFFSET, **_tasks(signs), **revoked, **previous}
    topics = [word[1:] for word in words if word[0] == "/"]
    part = {"subtopologyId": "s0", "stateChangelogTopics": [{"name": "changelog"}], "sourceTopics": topics}
    return {"epoch": numbers[0], "subtopologies": [part]}


def _validated(signs: dict[str, str]) -> dict[str, Any]:
    text = signs.get("?", "?")[1:]
    configs = [{"key": "num.standby.replicas", "value": signs["="][1:]}] if "=" in signs else _CONFIGS
    if text == "-":
        return {}
    return {"lastAssignmentConfigs": configs, **({"validatedTopologyEpoch": int(text)} if text else {})}


def _fields(words: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = dict(word[1:].split("=") for word in words if word[0] == "/")
    if "endpoint" in fields:
        fields["userEndpoint"] = {"host": fields.pop("endpoint"), "port": 80}
    if "tags" in fields:
        fields["clientTags"] = [{"key": "zone", "value": fields.pop("tags")}]
    return fields


def _tasks(signs: dict[str, str]) -> dict[str, Any]:
    return {"activeTasks": _parts(signs.get("+", "")), "standbyTasks": _parts(signs.get("&", ""))}


def _parts(word: str) -> list[dict[str, Any]]:
    numbers = [int(number) for number in word[1:].split(word[0]) if number] if word else []
    return [{"subtopologyId": "s0", "partitions": numbers}] if numbers else []
