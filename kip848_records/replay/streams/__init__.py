"""Streams groups (KIP-1071): tasks in roles, and a topology."""
