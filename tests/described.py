"""What `kafka-consumer-groups --describe` prints."""

import re


def described_rows(text):
    """The rows of a table that Kafka printed, by column; a header line begins each group's."""
    for line in text.splitlines():
        if line.startswith("GROUP "):
            starts = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \(ID\))?", line)]
        elif line.strip():
            ends = [start for _, start in starts[1:]] + [len(line)]
            yield {name: line[start:end].strip() for (name, start), end in zip(starts, ends, strict=True)}
