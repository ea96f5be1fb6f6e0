"""What the tests of short stories share.

Times are in ms since the story began. A member heartbeats every 5 s from when it joined.
"""

from kip848_records.simulate.spec import START_MS
from tests.simulate.scenario import Scenario


def rows(capture, table, *columns):
    """The columns of a table's rows, in order."""
    found = [tuple(cell(row, name) for name in columns) for row in capture.truth[table]]
    return sorted(found, key=lambda row: [(value is not None, value) for value in row])


def cell(row, name):
    value = row.get(name)
    is_time = name.endswith(("_at", "_since"))
    return value - START_MS if is_time and value is not None else value


def story_of_two(**options):
    """Ann owns four partitions; after 5 s bob joins, who is to get two of them."""
    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"], **options)
    story.advance(5_000)
    bob = group.join("bob", ["orders"])
    return story, group, ann, bob
