"""The audit of a live topic, run by run: what was read is kept (`kept_log`), and the tables follow it (`update`)."""
