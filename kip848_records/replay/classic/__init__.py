"""Classic groups: a record of type 2 for each generation. `consumer` is their usual protocol type."""
