"""Sends a message to a webhook or a chat, by Apprise, which knows their protocols.

A URL often is a secret as a whole, so no text of this module has more of it than its scheme. Apprise's own warnings
contain parts of it, such as the host, so a reason is one of a few fixed texts.
"""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from kip848_records.errors import InputError
from kip848_records.settings.references import HINT, resolved
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.report.news import News

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://.")
_STATUS: Final = re.compile(r"\berror=([1-5][0-9]{2})\.?$")
_UNREACHABLE: Final = "connection error"


@dataclass(frozen=True)
class Webhook:
    """Where to send messages. `scheme` is that of its URL, such as `slack`."""

    scheme: str
    _service: Any = field(repr=False)

    def send(self, message: News) -> str | None:
        """Send a message; return None, or the reason why it was not delivered, which contains no part of the URL.

        The service is asked once, and has a few seconds to answer.
        """
        with _warnings() as warnings:
            try:
                is_sent = self._service.notify(body=message.text, title=message.title, body_format="text")
            except Exception as error:  # noqa: BLE001 - whatever a service raises, the verdict of a check stands
                return f"Apprise failed with {type(error).__name__}"
        return None if is_sent else _reason(warnings[-1] if warnings else "")


def open_webhook(url: str) -> Webhook:
    """Return the webhook of a URL: `http(s)://` gets JSON; Apprise lists the schemes of others, such as `slack://`.

    References as in `references.resolved` are replaced. Raises InputError for a URL that Apprise does not know, and
    SetupError if Apprise is not installed.
    """
    try:
        from apprise import Apprise  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise SetupError(
            "--webhook needs Apprise, which is not installed", "pip install 'kip848-records[notify]'"
        ) from None
    whole = resolved(url, _no_value, _no_file)
    scheme = _SCHEME.match(whole)
    if scheme is None:
        raise InputError(
            "--webhook is not a URL", "pass a URL such as https://host/path or slack://TokenA/TokenB/TokenC"
        )
    with _warnings():
        service = Apprise.instantiate(whole)  # it knows the addresses of some services, such as Slack
        if service is None and scheme[1].lower() in {"http", "https"}:
            plain = _json_url(whole)
            service = None if plain is None else Apprise.instantiate(plain)
    if service is None:
        raise InputError(
            f"--webhook {scheme[1]}://... is not a URL that Apprise knows",
            "check its parts; Apprise's documentation lists the URLs of all services",
        )
    return Webhook(scheme[1].lower(), service)


def _reason(warning: str) -> str:
    """Return what a warning of Apprise means, in words of our own."""
    status = _STATUS.search(warning)
    if status is not None:
        return f"the service answered with status {status[1]}"
    return "the service cannot be reached" if _UNREACHABLE in warning.lower() else "the service refused it"


def _json_url(url: str) -> str | None:
    """Return Apprise's form of a plain URL, to which it posts JSON; a `-` marks a parameter that it passes on.

    None if the URL is not valid.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # its text contains a part of the URL
        return None
    parameters = [(f"-{name}", value) for name, value in parse_qsl(parts.query, keep_blank_values=True)]
    scheme = "jsons" if parts.scheme.lower() == "https" else "json"
    return urlunsplit((scheme, parts.netloc, parts.path, urlencode(parameters, quote_via=quote), ""))


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect Apprise's warnings, and let it print none: they may contain the URL."""
    found: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(" ".join(record.getMessage().split()))

    logger = logging.getLogger("apprise")
    handler, level, propagate = Collecting(logging.WARNING), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


def _no_value(reference: str, reason: str) -> InputError:
    return InputError(f"--webhook has {reference}: {reason}", HINT)


def _no_file(path: str, reason: str) -> InputError:
    return InputError(f"--webhook refers to {path}: {reason}", HINT)
