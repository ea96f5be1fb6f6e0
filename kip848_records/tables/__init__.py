"""The tables that an audit writes, and how they reach Delta."""
