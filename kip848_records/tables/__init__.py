"""The tables that an audit writes: which there are, where they are, and what both engines do with them alike."""

DEFAULT_CLUSTER = "default"
"""The default name of the cluster."""
