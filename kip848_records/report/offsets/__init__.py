"""The offsets that were committed at a time: `keys` reads the log, `answer` and `gone` decide, `words` writes."""
