"""This machine: which paths are on it, and what its disks say."""
