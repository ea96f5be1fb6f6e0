"""Builds the nodes that decode a layout."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from kip848_records.protocol.columnar.leaves import FixedList, Run, Span
from kip848_records.protocol.columnar.lengths import CompactLength, Count, FixedLength, Length
from kip848_records.protocol.columnar.nesting import List, NullableRecord, Record
from kip848_records.protocol.columnar.tags import Tags
from kip848_records.protocol.schema import INT16, INT32, STRING, Array, Field, Fixed, Layout, Struct, Type, Variable

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.node import Node


@cache
def plan(layout: Layout) -> Record:
    """Return the nodes of a message; the plan of a layout is built once and cached."""
    return _Planner(layout).record(layout.struct)


class _Planner:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def record(self, kind: Struct) -> Record:
        places = {field.name: place for place, field in enumerate(kind.fields)}
        steps: list[tuple[Node, tuple[int, ...]]] = []
        for fixed, group in groupby(self.layout.positional(kind), lambda field: isinstance(field.type, Fixed)):
            fields = list(group)
            if fixed:
                run = Run(tuple(field.type for field in fields if isinstance(field.type, Fixed)))
                steps.append((run, tuple(places[field.name] for field in fields)))
            else:
                steps += [(self.field(field, tagged=False), (places[field.name],)) for field in fields]
        if self.layout.flexible:
            tagged = self.layout.tagged(kind)
            known = {tag: (self.field(field, tagged=True), field.type.arrow) for tag, field in tagged.items()}
            steps.append((Tags(known), tuple(places[field.name] for field in tagged.values())))
        return Record(kind, tuple(steps))

    def field(self, field: Field, *, tagged: bool) -> Node:
        nullable = self.layout.nullable(field)
        if isinstance(field.type, Struct) and nullable:
            return NullableRecord(self.record(field.type), tagged)
        return self.node(field.type, nullable=nullable)

    def node(self, kind: Type, *, nullable: bool) -> Node:
        if isinstance(kind, Fixed):
            return Run((kind,))
        if isinstance(kind, Variable):
            return Span(kind, self.length(INT16 if kind is STRING else INT32), nullable)
        if isinstance(kind, Array):
            return self.array(kind, nullable=nullable)
        return self.record(kind)

    def array(self, kind: Array, *, nullable: bool) -> Node:
        element = kind.element
        if isinstance(element, Fixed):
            return FixedList(kind, element, Count(self.length(INT32), element.size, nullable))
        node = self.node(element, nullable=False)
        return List(kind, node, Count(self.length(INT32), node.smallest, nullable))

    def length(self, width: Fixed) -> Length:
        """`width`: the type of a length in versions that are not flexible."""
        return CompactLength() if self.layout.flexible else FixedLength(width.wire, width.size)
