"""A real broker's topic, night after night: each test is the next night, on what the one before has left."""

import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from deltalake import DeltaTable

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests import users
from tests.audits import table_rows
from tests.broker import offsets_topic
from tests.broker.clients import commit_in_transaction, consumer, make_topic, produce
from tests.broker.requests import delete_group, wait_for_state
from tests.broker.running import done
from tests.broker.settings import READER
from tests.conftest import QUICK_JAVA
from tests.described import described_rows
from tests.docs.pages import block
from tests.progress import Watcher

# `test_fetched` has such nights without Spark.
pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parent.parent.parent
TOPIC = "nights"
CLUSTER = "prod"
EXAMPLE = block("test: live").removeprefix("kip848 audit ")
SETTLED, STUCK, CLASSIC = "settled", "stuck", "classic"
ODD = "<b>'o\"\N{SNOWMAN}\u00f6' OR 1=1 --" + "x" * 150  # Java counts a snake as two, in a table of fixed columns
GONE = "gone"
# Of them the log has no more than commits.
WITHOUT_STATE = {"in transactions"}


class Nights:
    def __init__(self, spark, broker, folder, members):
        self.spark, self.broker, self.out, self.members = spark, broker, folder / "out '\u00f6", members
        self.url = f"kafka://{broker.bootstrap}/__consumer_offsets"
        self.runs = 0

    def join(self, group, *, count=None, **settings):
        member = self.members.enter_context(consumer(self.broker, group, [TOPIC], **settings))
        if count is not None:
            member.wait_for(count)
        return member

    def audit(self, out=None, **options):
        audit = run_audit(
            self.spark, AuditOptions((self.url,), str(out or self.out), cluster=CLUSTER, **options), Watcher()
        )
        return {read.partition: read for read in audit.reads}

    def states(self, out=None):
        rows = table_rows(out or self.out, "group_state", CLUSTER)
        shown = {None: "-"}
        return {
            row["group_id"]: (
                row["state"],
                *(shown.get(row[name], str(row[name])) for name in ("group_epoch", "assignment_epoch")),
                row["members"],
            )
            for row in rows
        }

    def described(self):
        """The same, as Kafka's own tool says it at this moment."""
        text = self.broker.command(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            *("--describe", "--all-groups", "--state", "--verbose"),
        )
        return {
            row["GROUP"]: (row["STATE"], row["GROUP-EPOCH"], row["TARGET-ASSIGNMENT-EPOCH"], int(row["#MEMBERS"]))
            for row in described_rows(text)
        }


@pytest.fixture(scope="module")
def nights(spark, broker, tmp_path_factory):
    with ExitStack() as members:
        make_topic(broker, TOPIC, 4)
        produce(broker, TOPIC)
        yield Nights(spark, broker, tmp_path_factory.mktemp("nights"), members)


@pytest.fixture(scope="module", autouse=True)
def _of_the_reader(broker):
    rule = (ResourceType.GROUP, "kip848-records", ResourcePatternType.PREFIXED, f"User:{READER[0]}", "*")
    allowed = (*rule, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    done(broker.admin.create_acls([AclBinding(*allowed)]))
    yield
    done(broker.admin.delete_acls([AclBindingFilter(*allowed)]))


def same(described, nights):
    """Compare with what Kafka's tool said just before the audit: of groups that did not change meanwhile."""
    ours = nights.states()
    told = {group: state for group, state in described.items() if group not in WITHOUT_STATE and is_ours(group)}
    assert told
    if differing := {group for group, state in told.items() if ours.get(group) != state}:
        now = nights.described()
        unchanged = {group: told[group] for group in differing if now.get(group) == told[group]}
        assert {group: ours.get(group) for group in unchanged} == unchanged
        assert differing <= {CLASSIC}, "a classic group may see its member join anew, if that was slow"


def is_ours(group):
    return group in {SETTLED, STUCK, CLASSIC, ODD, GONE, "later"}


def test_first_night_with_spark_submit_and_a_password_that_nobody_sees(nights, tmp_path):
    for group, protocol in ((SETTLED, "consumer"), (CLASSIC, "classic"), (ODD, "consumer")):
        nights.join(group, count=4, protocol=protocol)
    first = nights.holder = nights.join(STUCK, count=4, holds=True)
    with consumer(nights.broker, GONE, [TOPIC]) as member:
        member.wait_for(4)
    nights.join(STUCK)
    first.wait_until_asked()
    commit_in_transaction(nights.broker, "in transactions", {(TOPIC, 0): 3}, abort=True)
    user, password = READER
    settings = nights.broker.properties((user, password), "SASL_SSL").read_text()
    config = tmp_path / "client.properties"
    config.write_text(settings.replace(password, "${env:KAFKA_PASSWORD}"))
    command = [str(Path(sys.executable).parent / "spark-submit"), "--properties-file", "conf/spark-defaults.conf"]
    command += ["--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={tmp_path.as_uri()}"]
    named = {"localhost:9092": nights.broker.tls, "client.properties": shlex.quote(str(config))}
    arguments = EXAMPLE.replace("--out out", f"--out {shlex.quote(str(nights.out))}")
    for name, ours in named.items():
        arguments = arguments.replace(name, ours)
    command += ["jobs/nightly_audit.py", *shlex.split(arguments)]
    environment = users.environment()
    environment |= {"PYSPARK_PYTHON": sys.executable, "KAFKA_PASSWORD": password, "TMPDIR": str(tmp_path)}
    environment |= {"JDK_JAVA_OPTIONS": QUICK_JAVA}
    described = nights.described()
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "  1 of " in ended.stdout
    assert ODD in ended.stdout or "Stuck groups" in ended.stdout
    assert password not in ended.stdout + ended.stderr
    written = [path for path in [*tmp_path.rglob("*"), *nights.out.rglob("*")] if path.is_file()]
    assert [path for path in written if "spark_submit" not in path.name and "events" in path.name]
    assert not [path for path in written if password.encode() in path.read_bytes()]
    assert nights.states()[STUCK][0] == "Reconciling"
    same(described, nights)
    names = {row["topic"]: row["source"] for row in table_rows(nights.out, "topic_name", CLUSTER)}
    assert names["__consumer_offsets"] == "cluster"


def test_second_night_after_a_restart_of_the_broker(nights, tmp_path):
    nights.holder.release()
    wait_for_state(nights.broker, STUCK, "Stable")
    nights.broker.restart()
    nights.join("later", count=4)
    delete_group(nights.broker, GONE)
    described = nights.described()
    reads = nights.audit()
    assert all(read.run == 2 for read in reads.values())
    assert GONE not in nights.states()
    same(described, nights)
    # Members commit and beat on, so one run over all that was read is one up to where this one ended.
    at_once = tmp_path / "once"
    records = nights.spark.read.format("delta").load(str(nights.out / "log")).where("content = 'record'")
    records.select("key", "value", "partition", "offset", "timestamp").write.parquet(str(tmp_path / "rows"))
    captured = max(row["captured_at"] for row in table_rows(nights.out, "audit_runs", CLUSTER))
    names = {row["topic_id"]: row["topic"] for row in table_rows(nights.out, "topic_name", CLUSTER)}
    dump = AuditOptions((str(tmp_path / "rows"),), str(at_once), cluster=CLUSTER, captured_at=captured, topics=names)
    run_audit(nights.spark, dump, Watcher())
    assert nights.states(at_once) == nights.states()
    ours, theirs = (table_rows(out, "epoch_timeline", CLUSTER) for out in (nights.out, at_once))
    key = ("partition", "group_id", "incarnation", "group_epoch")
    assert {tuple(row[name] for name in key) for row in ours} == {tuple(row[name] for name in key) for row in theirs}
    # Without the offset commits the copy has other gaps than the topic: each may prove what the other cannot, of a
    # row or, where an earlier assignment has to be known too, of a field.
    proven = [
        {tuple(row[name] for name in key): row for row in rows if row["history"] == "observed"}
        for rows in (ours, theirs)
    ]
    in_both = sorted(proven[0].keys() & proven[1].keys())
    assert in_both
    for each in in_both:
        one, other = proven[0][each], proven[1][each]
        in_doubt = {name for name in ("metadata_changed", "partitions_moved") if None in (one[name], other[name])}
        assert one | dict.fromkeys(in_doubt) == other | dict.fromkeys(in_doubt)
    assert len(table_rows(nights.out, "membership", CLUSTER)) > 4


def test_no_group_was_joined_by_who_read(nights):
    assert not [group for group in nights.described() if group.startswith(("spark-kafka", "kip848"))]
    rows = DeltaTable(nights.out / "log").to_pyarrow_table(columns=["group_id"])["group_id"].to_pylist()
    assert not [group for group in rows if group and group.startswith(("spark-kafka", "kip848"))]
    assert ODD in rows


def test_third_night_after_compaction_has_what_was_deleted_unseen(nights):
    group = "later"
    nights.members.close()
    for each in (group, SETTLED):
        wait_for_state(nights.broker, each, "Empty")
        delete_group(nights.broker, each)
    partitions = {offsets_topic.partition_of(each) for each in (group, SETTLED)}
    offsets_topic._configure(nights.broker, {"delete.retention.ms": "0"})
    offsets_topic.compact(nights.broker)
    offsets_topic._configure(nights.broker, {"delete.retention.ms": "0"})
    described = nights.described()
    reads = nights.audit()
    assert all("keys are gone" in reads[p].note for p in partitions), reads
    assert not {group, SETTLED} & nights.states().keys()
    deletions = [row for row in table_rows(nights.out, "log", CLUSTER) if row["is_inferred"]]
    assert {group, SETTLED} <= {row["group_id"] for row in deletions}
    assert all(row["value"] is None for row in deletions)
    same(described, nights)


def test_fourth_night_with_added_partitions(nights):
    offsets_topic._configure(nights.broker, {"delete.retention.ms": None})
    offsets_topic.add_partitions(nights.broker, 5)
    with consumer(nights.broker, SETTLED, [TOPIC]) as member:
        member.wait_for(4)
        described = nights.described()
        reads = nights.audit()
        assert reads[4].note == "added since the previous run"
        same(described, nights)
        again = nights.audit()
    assert {p: read.from_offset for p, read in again.items()} == {p: read.until_offset for p, read in reads.items()}


def test_fifth_night_after_the_topic_was_made_anew(nights):
    before = {group: nights.states()[group] for group in (ODD, STUCK)}
    offsets_topic.make_anew(nights.broker)
    with consumer(nights.broker, "new", [TOPIC]) as member:
        member.wait_for(4)
        nights.audit()
    assert nights.states().keys() == {"new"}
    runs = DeltaTable(nights.out / "audit_runs").to_pyarrow_table().to_pylist()
    (aside,) = {row["cluster"] for row in runs if row["is_archived"]}
    assert aside.startswith(f"{CLUSTER} until run ")
    kept = {row["group_id"]: row["state"] for row in table_rows(nights.out, "group_state", aside)}
    assert {group: kept[group] for group in before} == {group: state for group, (state, *_) in before.items()}
