"""The tables that an audit writes, and how they reach Delta."""

DEFAULT_CLUSTER = "default"
"""The default name of the cluster."""
