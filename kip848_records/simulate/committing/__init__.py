"""Groups whose clients read messages and commit offsets, and the truth of what they read and where they stood still."""
