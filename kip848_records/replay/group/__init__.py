"""What all kinds of groups share: operations, coverage, history, states, stays, and what a coordinator can load."""
