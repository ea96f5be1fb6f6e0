"""The engine in this process, for copies and tables on this machine."""
