"""References in settings to secrets that are elsewhere, in the notation of Kafka's own configuration providers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.settings.properties import parse_properties

if TYPE_CHECKING:
    from collections.abc import Callable

_REFERENCE: Final = re.compile(r"\$\{([^}:]*):(?:([^}:]*):)?([^}:]*)\}")

HINT: Final = "use ${env:NAME}, a variable of this process, or ${file:/path:key}, a key of a properties file"


def resolved(text: str, no_value: Callable[[str, str], Exception], no_file: Callable[[str, str], Exception]) -> str:
    """Return a text in which each `${env:NAME}` and `${file:/path:key}` is replaced by its value.

    Raises `no_value(reference, reason)` if there is no such value, `no_file(path, reason)` if a file cannot be read.
    """

    def resolve(reference: re.Match[str]) -> str:
        provider, file, key = reference.groups()
        if provider == "env" and file is None:
            found, missing = os.environ.get(key), f"the environment has no variable {key}"
        elif provider == "file" and file is not None:
            found, missing = read_properties(file, no_file, encoding="utf-8").get(key), f"{file} has no key {key}"
        else:
            found, missing = None, f"there is no provider {provider} of that form"
        if found is None:
            raise no_value(reference[0], missing)
        return found

    return _REFERENCE.sub(resolve, text)


def read_properties(path: str, no_file: Callable[[str, str], Exception], *, encoding: str) -> dict[str, str]:
    """Return the keys and values of a Java properties file. Raises `no_file(path, reason)` if it cannot be read."""
    try:
        return parse_properties(Path(path).read_text(encoding))
    except OSError as error:
        raise no_file(path, error.strerror or type(error).__name__) from None
    except UnicodeDecodeError:
        raise no_file(path, f"it is not {encoding.upper()} text") from None
    except ValueError:  # its text may contain a secret
        raise no_file(path, "a backslash u is not followed by four hexadecimal digits") from None
