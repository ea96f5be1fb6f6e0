"""Records of share groups in the words of a story: types 10 to 14 in those of types 5, 3, 6, 7 and 8.

``15 ?0?1 +2`` has the partitions 0 and 1 initializing, and 2 initialized; ``15 -`` is a topic that is deleted. Its name
is t, its id t0.
"""

from typing import Any

LIKE = {"10": "5", "11": "3", "12": "6", "13": "7", "14": "8"}
"""The type of a consumer group with the same words."""

_TOPIC = {"topicId": "t0", "topicName": "t"}


def state_of(words: list[str]) -> dict[str, Any]:
    """The value of a type 15."""
    numbers = {sign: [int(n) for word in words if word[0] == sign for n in word[1:].split(sign) if n] for sign in "?+"}
    topics = {sign: [{**_TOPIC, "partitions": some}] if some else [] for sign, some in numbers.items()}
    deleting = [_TOPIC] if "-" in words else []
    return {"initializingTopics": topics["?"], "initializedTopics": topics["+"], "deletingTopics": deleting}
