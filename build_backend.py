"""Hatchling, after a look at the interpreter: pip of an old one would name a dependency instead of the reason."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - what a user may have
    found = sys.version.split()[0]
    sys.exit(f"kip848-records needs Python 3.11 or newer, and this is {found}: use python3.11 -m venv .venv")

from hatchling.build import *  # noqa: F403 - the hooks of PEP 517 and PEP 660
