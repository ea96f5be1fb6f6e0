"""The settings of a Kafka client from its properties file; their secrets never appear in any text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kip848_records.settings.references import read_properties, resolved
from kip848_records.sources.topic.errors import EXPECTED_SETTINGS, TopicError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Spark forbids some of these; others would join a group, move a group's offsets, or change which rows are read.
_NOT_OURS = re.compile(
    r"group\.(id|instance\.id|protocol|remote\.assignor)|partition\.assignment\.strategy|(key|value)\.(de)?serializer"
    r"|enable\.auto\.commit|auto\.(offset\.reset|commit\.interval\.ms)|interceptor\.classes|isolation\.level"
    r"|allow\.auto\.create\.topics|transactional\.id|config\.providers(\..*)?"
)
_OURS = "bootstrap.servers"
_SECRET = re.compile(r"password|passwd|secret|credential|jaas\.config$|(^|[._])key$", re.IGNORECASE)
_JAAS_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""")


@dataclass(frozen=True)
class ClientSettings:
    """Settings of a Kafka client, by name; no text of this package contains their values."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def masked(self, text: str) -> str:
        """Return `text` with every secret in it replaced by `***`."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def _secrets(self) -> set[str]:
        whole = {value for name, value in self.values.items() if _SECRET.search(name)}
        lines = {line for value in whole for line in value.splitlines()}
        options = {
            form for value in whole for name, *forms in jaas_options(value) if _SECRET.search(name) for form in forms
        }
        return {secret for value in whole | lines | options if (secret := value.strip())}


def read_client_settings(path: str) -> ClientSettings:
    """Return the settings in a file such as Kafka's tools take with `--command-config`.

    `bootstrap.servers` is skipped, because the topic's URL names the servers. References to `${env:NAME}` and
    `${file:/path:key}`, in the notation of Kafka's own configuration providers, are resolved here, on the driver.
    Raises TopicError if the file cannot be read, has an unknown reference, or sets what the user may not set.
    """
    given = read_properties(path, TopicError.bad_settings, encoding="latin-1")  # the encoding of Kafka's tools
    given.pop(_OURS, None)
    if names := sorted(name for name in given if name.startswith("kafka.")):
        raise TopicError(
            f"{path} sets {', '.join(names)}, as for Spark", f"remove the prefix 'kafka.' of each; {EXPECTED_SETTINGS}"
        )
    if names := sorted(name for name in given if _NOT_OURS.fullmatch(name)):
        raise TopicError(
            f"{path} sets {', '.join(names)}, which the reader of the topic must set itself",
            "remove them: only security.*, ssl.*, sasl.*, timeouts and fetch sizes may be set",
        )
    return ClientSettings(
        {
            name: resolved(value, partial(TopicError.no_value, path, name), TopicError.bad_settings)
            for name, value in given.items()
        }
    )


def jaas_options(line: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name and the value of each option of a JAAS line, and the value as it is written there."""
    for name, *forms in _JAAS_OPTION.findall(line):
        written = "".join(forms)
        yield name, re.sub(r"\\(.)", r"\1", written), written
