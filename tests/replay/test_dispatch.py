"""The places of a kind of group, which `CONTRIBUTING.md` lists: its folder has what `dispatch` takes from it."""

import re
import tomllib
from pathlib import Path

import pytest

from kip848_records.kinds import CLASSIC, CONSUMER, KINDS, SIMPLE, Role
from kip848_records.replay.dispatch import loading_rules, modern_group, value_checks, value_readers
from kip848_records.replay.group.context import Context
from kip848_records.replay.group.loading import LoadingRules
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.modern.group import ModernGroup
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.rows import ROW_CLASSES
from kip848_records.simulate import Simulation
from kip848_records.simulate.spec import OTHER_KINDS
from kip848_records.simulate.walks.walked_groups import WALKS
from kip848_records.specs.tables import REPLAYED

REPLAYED_KINDS = KINDS.keys() - {SIMPLE}
MODERN = sorted({KINDS[kind].group_type for kind in REPLAYED_KINDS} - {CLASSIC})
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("kind", MODERN)
def test_a_folder_has_the_group_its_readers_and_what_is_refused(kind: str) -> None:
    group = modern_group(kind)
    assert issubclass(group, ModernGroup)
    assert group.kind == kind
    assert isinstance(loading_rules(kind), LoadingRules)
    roles = set(KINDS[kind].roles.values())
    assert set(value_readers(kind)) == roles - {Role.OTHER}
    assert set(value_checks(kind)) <= roles


@pytest.mark.parametrize("kind", MODERN)
def test_each_record_has_a_handler(kind: str) -> None:
    context = Context(ReplayInputs("kafka", None, {}), PartitionNumbers(), 0, "g")
    handlers = modern_group(kind)(context, is_complete=True).handlers()
    handled = {role for role, handler in zip(Role, handlers, strict=True) if handler is not None}
    assert handled == set(KINDS[kind].roles.values()) - {Role.OTHER}


def test_each_kind_has_a_place_in_the_order_of_the_folders() -> None:
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if "Kinds of groups" in contract["name"])
    (kinds,) = (layer for layer in layers if CLASSIC in layer)
    assert re.split(r"[ |]+", kinds) == sorted(REPLAYED_KINDS)


def test_each_replayed_table_has_a_class_of_rows() -> None:
    assert ROW_CLASSES.keys() >= REPLAYED.keys()


def test_each_kind_has_a_walk_that_a_simulation_can_have() -> None:
    assert {*WALKS, CONSUMER} == REPLAYED_KINDS
    assert all(hasattr(Simulation, other.field) for other in OTHER_KINDS)


def test_the_page_of_a_kind_exists() -> None:
    assert all((PROJECT.parent / kind.page).is_file() for kind in KINDS.values() if kind.page is not None)
