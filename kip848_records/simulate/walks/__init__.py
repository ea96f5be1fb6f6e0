"""Random walks of groups of every kind, each with its truth.

A walk lets things happen to a group, and writes the records that its coordinator would write. It notes the rows of the
tables when the facts happen, and reads no record.
"""
