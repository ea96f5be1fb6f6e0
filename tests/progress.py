"""Who watches the runs of the tests."""

from collections import Counter
from dataclasses import dataclass, field

from kip848_records.pipeline.progress import Progress


@dataclass
class Watcher(Progress):
    """Keeps what a run says on the way."""

    phases: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def phase(self, name, detail=""):  # noqa: ARG002
        self.phases.append(name)

    def advance(self, rows):
        self.rows[self.phases[-1]] += rows

    def note(self, text):
        self.notes.append(text)
