"""Clusters of Connect workers: classic groups of the protocol type `connect`."""
