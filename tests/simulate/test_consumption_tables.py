"""What an audit says about consumption, against what the clients of simulated groups really did."""

import os
import shutil
from random import Random

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.end_offsets import read_end_offsets
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from kip848_records.simulate.cleaner import clean
from tests.audits import table_rows
from tests.progress import Watcher
from tests.seeds import daily_seeds, nightly
from tests.simulator.decoded import in_ms
from tests.simulator.run import Simulation, simulate

# Their fixtures audit with worker processes: whichever test comes first starts these.
pytestmark = [pytest.mark.process, pytest.mark.slow]

SCENES = 23
RESETS = {"reset_back": "back", "reset_ahead": "ahead"}
AS_OF_SEVEN_DAYS = {"group_expired": "group_deleted", "expired": "deleted"}
"""Here offsets expire after an hour. With the default retention of seven days these would be the causes."""


class Audited:
    """The facts of a simulation, and the rows of an audit's tables, times in ms."""

    def __init__(self, truth, tables, is_whole):
        self._truth = truth
        self.tables = tables
        self.is_whole = is_whole

    def fact(self, name):
        return self._truth[name]

    def table(self, name):
        return [in_ms(row) for row in table_rows(self.tables, name, "c")]


def audit(log, tables, **options):
    options = AuditOptions((str(log),), str(tables), cluster="c", offset_commits=True, **options)
    run_audit(None, options, Watcher())
    return DuckTables(str(tables))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    spec = Simulation(0, hours=2.5, seed=4, partitions=5, stalled_groups=SCENES)
    return simulate(spec, tmp_path_factory.mktemp("consumption") / "simulated")


@pytest.fixture(scope="module")
def whole(simulated, tmp_path_factory):
    tables = tmp_path_factory.mktemp("whole")
    audit(simulated.log, tables)
    return Audited(simulated.truth, tables, is_whole=True)


@pytest.fixture(scope="module")
def compacted(simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compacted")
    shutil.copytree(simulated.log, folder / "log")
    for path in sorted((folder / "log").iterdir()):
        clean(path, Random(path.name), delete_retention_ms=86_400_000)  # noqa: S311 - no secret
    audit(folder / "log", folder / "tables")
    return Audited(simulated.truth, folder / "tables", is_whole=False)


@pytest.fixture(scope="module", params=["whole", "compacted"])
def audited(request):
    return request.getfixturevalue(request.param)


def place(row):
    return row["group_id"], row["topic"], row["partition"]


def open_stays(audited):
    rows = audited.table("commit_progress")
    return {place(row): row for row in rows if row["owner"] == "member" and row["released_at"] is None}


@pytest.mark.nightly
def test_what_stands_still_has_not_advanced_since(audited):
    """Positions are committed within five seconds, or never: a partition may stand still before it was committed."""
    stays = open_stays(audited)
    stalls = [row for row in audited.fact("stall") if row["to_at"] is None]
    assert len(stalls) > 20
    for row in stalls:
        stay = stays[place(row)]
        assert stay["member_id"] == row["member_id"]
        last = stay["last_advance_at"]
        assert last is None or last <= row["from_at"] + 6_000, row
        assert stay["last_offset"] is None or stay["last_offset"] <= row["first_position"]


def test_what_is_read_advances(audited):
    stays = open_stays(audited)
    live = [row for row in audited.fact("reading") if row["to_at"] is None and "simple" not in row["group_id"]]
    assert len(live) > 100
    for row in live:
        if "no-messages" not in row["group_id"]:
            stay = stays[place(row)]
            assert stay["member_id"] == row["member_id"]
            assert 0 <= row["next_position"] - stay["last_offset"] < 3 * 170, row


def test_every_lost_offset_has_its_cause(audited):
    true = {
        (*place(row), row["at"], row["before_offset"]): AS_OF_SEVEN_DAYS.get(row["kind"], row["kind"])
        for row in audited.fact("offset_change")
        if row["after_offset"] is None
    }
    found = {
        (*place(row), row["jumped_at"], row["before_offset"]): row["cause"]
        for row in audited.table("commit_jump")
        if row["kind"] == "lost"
    }
    assert found == true if audited.is_whole else found.items() <= true.items()


def test_the_diagnosis_names_those_who_stall(audited):
    """Without another group, a partition that was paused alone looks like one without messages."""
    true = {row["group_id"] for row in audited.fact("stall") if row["to_at"] is None}
    found = {row["group_id"] for row in audited.table("diagnosis") if row["pattern"] == "not_consumed"}
    assert found == ({each for each in true if "paused-alone" not in each} if audited.is_whole else set())


def test_the_diagnosis_names_those_who_lose_offsets(audited):
    true = {row["group_id"] for row in audited.fact("offset_change") if row["after_offset"] is None}
    rows = {row["group_id"]: row for row in audited.table("diagnosis") if row["pattern"] == "offsets_lost"}
    assert rows.keys() <= true
    assert bool(rows) == audited.is_whole
    assert {row["probable_cause"] for row in rows.values() if row["is_present"]} <= {"deleted", "expired"}


@pytest.mark.parametrize("seed", [5, *nightly(daily_seeds(1, "consuming"))])
def test_groups_that_consume_have_no_trouble_with_it(seed, tmp_path):
    simulated = simulate(Simulation(0, hours=1.5, seed=seed, partitions=5, committing_groups=30), tmp_path / "out")
    audit(simulated.log, tmp_path / "tables")
    found = {row["pattern"] for row in table_rows(tmp_path / "tables", "diagnosis", "c")}
    assert not found & {"not_consumed", "blocked_by_transaction", "offsets_lost"}


@pytest.mark.nightly
def test_where_topics_end_tells_who_is_idle(whole, simulated, tmp_path):
    """Of the partitions that stand still without another group ahead, only the paused one has messages."""
    text = completed("SELECT * FROM consumption_now")
    before = {place(row._asdict()): row for row in DuckTables(str(whole.tables)).rows(text, "c")}
    just_before = max(row.captured_at for row in before.values()).timestamp() - 0.001
    ends = tmp_path / "end-offsets.txt"
    lines = {f"{row['topic']}:{row['partition']}:{row['end_offset']}\n" for row in whole.fact("end_offset")}
    ends.write_text("".join(lines))
    os.utime(ends, (just_before, just_before))
    tables = audit(simulated.log, tmp_path / "tables", end_offsets=read_end_offsets(str(ends)))
    rows = {place(row._asdict()): row for row in tables.rows(text, "c")}
    still = {
        key for key, row in before.items() if row.state in {"stopped_alone", "all_stopped", "idle_or_not_consumed"}
    }
    assert len(still) > 10
    assert [key[0] for key in still if rows[key].state != "caught_up"] == [
        "one-paused-alone-cooperative-librdkafka-00011"
    ]
    assert {key for key, row in rows.items() if row.state == "messages_wait"} < still


def test_resets_are_jumps_of_the_same_amount(audited):
    true = {
        (*place(row), row["at"], RESETS[row["kind"]], abs(row["after_offset"] - row["before_offset"]))
        for row in audited.fact("offset_change")
        if row["kind"] in RESETS
    }
    found = {
        (*place(row), row["jumped_at"], row["kind"], row["amount"])
        for row in audited.table("commit_jump")
        if row["kind"] in {"back", "ahead"} and row["context"] in {"no_members", "simple"}
    }
    assert found == true if audited.is_whole else found <= true


def test_other_offsets_go_back_only_where_a_client_sought_it(audited):
    """One that commits every position is seen; librdkafka is silent until it has caught up."""
    sought = {place(row): row for row in audited.fact("offset_change") if row["kind"] == "seek_back"}
    found = [row for row in audited.table("commit_jump") if row["kind"] == "back" and row["member_id"] is not None]
    seen = [key for key in sought if "java" in key[0]]
    assert seen
    assert [place(row) for row in found] == (seen if audited.is_whole else seen[: len(found)])
    for row in found:
        assert row["context"] == "same_owner"
        assert 0 < row["amount"] <= 150
        assert sought[place(row)]["at"] <= row["jumped_at"] <= row["recovered_at"]


def test_new_partitions_begin_with_a_first_commit(audited):
    found = {place(row): row for row in audited.table("commit_jump") if row["kind"] == "first_commit"}
    grown = {place(row): row for row in audited.fact("reading") if row["partition"] >= 6}
    assert len(grown) == 2
    if audited.is_whole:
        assert {key for key, row in grown.items() if row["next_position"] > 0} <= found.keys()
    for key in found.keys() & grown.keys():
        assert found[key]["after_offset"] >= grown[key]["first_position"]
