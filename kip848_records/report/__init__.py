"""The verdict of a check in formats for people and for other programs: one module per format."""
