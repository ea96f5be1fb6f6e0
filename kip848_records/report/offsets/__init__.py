"""The offsets that were committed at a time: read from the log (`keys`), decided (`answer`, `gone`), written (`words`)."""
