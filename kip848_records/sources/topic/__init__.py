"""A live topic as a source: `kafka://host:port/__consumer_offsets`, read without leaving a trace in the cluster."""
