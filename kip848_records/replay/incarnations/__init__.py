"""One group id through its incarnations and types: what is between its groups, which know nothing of each other."""
