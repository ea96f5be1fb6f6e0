"""The log of a cluster: the rows that were read, and the facts about them."""
