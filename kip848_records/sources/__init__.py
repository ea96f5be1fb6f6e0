"""All sources of `__consumer_offsets`. A kind of source is one module and one line of `registry`."""
