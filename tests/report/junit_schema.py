"""Fetches the XML schema of Jenkins' xUnit plugin, which pytest's source distribution ships for its own tests."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.downloads import UnavailableError, kept

# pip prepares the metadata of what it downloads, in an environment of its own.
PATIENCE = 60.0
_SOURCE = f"pytest-{pytest.__version__}"


def junit_schema(timeout: float = PATIENCE) -> Path:
    """Return the schema's file. Raises UnavailableError where it is not there and cannot be fetched in `timeout` s."""
    return kept("schemas", f"junit-10-of-{_SOURCE}.xsd", lambda work: _extract(_download(work, timeout)))


def _download(work: Path, timeout: float) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    command += ["--no-deps", "--no-binary", "pytest", "--dest", work, f"pytest=={pytest.__version__}"]
    try:
        answer = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"fetching the source of {_SOURCE} took more than {timeout:g} s") from None
    archive = next(work.glob("*.tar.gz"), None)
    if answer.returncode or archive is None:
        lines = [line.strip() for line in answer.stdout.splitlines()]
        reason = next((line for line in lines if "ERROR" in line), "pip said nothing")
        raise UnavailableError(f"the source of {_SOURCE} cannot be fetched: {reason}")
    return archive


def _extract(archive: Path) -> Path:
    schema = archive.with_name("junit-10.xsd")
    with tarfile.open(archive) as opened:
        # Of one regular file; None for what is none.
        member = opened.extractfile(f"{_SOURCE}/testing/example_scripts/{schema.name}")
        assert member is not None
        schema.write_bytes(member.read())
    return schema
