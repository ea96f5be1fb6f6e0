"""The page: what an audit found as one HTML file, to be opened in a browser."""
