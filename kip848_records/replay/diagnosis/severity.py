"""The severity of an episode: an error calls an operator, an info row is never an alarm."""

from __future__ import annotations

from typing import Final

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"

BY_COST: Final = "by_cost"
WHILE_PRESENT: Final = "while_present"
"""When a present episode is an error: `Pattern.error`."""
