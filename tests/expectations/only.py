"""A configuration for tests of what surrounds a check: few expectations, because all of them take seconds."""

from kip848_records.expectations import EXPECTATIONS


def only(*names):
    """Return the text of a configuration in which all expectations but these are off."""
    return "".join(f'[expectations.{each.name}]\nseverity = "off"\n' for each in EXPECTATIONS if each.name not in names)
