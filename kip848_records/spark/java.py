"""The Java that Spark would run, and whether Spark supports it.

This module imports the standard library only, because `make` runs it before anything is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kip848_records.spark.setup_errors import SetupError

_SUPPORTED = (17, 21)
_HINT = (
    "install Java 17 or 21 (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17), or set JAVA_HOME to an installed one"
)


def home_of_java() -> Path:
    """Return the home folder that Java sees, where Ivy's folder is: that of the account, whatever `HOME` says."""
    try:
        import pwd  # noqa: PLC0415 - Windows has none

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):  # a container may run as a user without an account
        return Path.home()


def check_java() -> int:
    """Return the version of the Java that Spark would run, which is 17 or 21.

    Raises SetupError if it does not run, or has another version.
    """
    java = _command()
    try:
        # The command is the one that Spark itself is about to run.
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        raise SetupError(f"Spark needs Java, but '{java}' does not run", _HINT) from None
    major = _major(answer.stderr)
    if major not in _SUPPORTED:
        # A JVM may announce its options (JAVA_TOOL_OPTIONS) before its version.
        found = [line for line in answer.stderr.splitlines() if "version" in line]
        version = found[0] if found else "of unknown version"
        raise SetupError(f"Spark needs Java 17 or 21, but '{java}' is {version}", _HINT)
    return major


def _command() -> str:
    """Return the path where Spark's launcher looks: JAVA_HOME, without a check, else the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def _major(text: str) -> int | None:
    """Return 17 for 'openjdk version "17.0.15" 2025-04-15', 8 for 'java version "1.8.0_292"'."""
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(version[1]) if version else None


if __name__ == "__main__":
    try:
        check_java()
    except SetupError as error:
        sys.exit(f"error: {error}")
