"""The tables as other readers see them: plain Delta, with the columns, comments and keys of their specs."""

import json

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.sql.types import StructType

from kip848_records.engines.spark.tables import spark_schema
from kip848_records.tables.log import KNOWLEDGE
from kip848_records.tables.registry import TABLES
from tests.audits import CLUSTERS
from tests.seeds import few

WITHOUT_ROWS = {
    *("anomaly", "connect_assignment", "end_offset", "group_configuration", "open_transaction", "quarantine"),
    *("topic_content", "unknown_record"),
}
"""The captures lack nothing, nothing in them goes against a rule, every transaction in them has ended, and of group
configurations they have none that is set. The audits did not count what is in the topic."""

NOT_IN_THE_CAPTURES = {"consumer_group_target_assignment", "share_group_partition_metadata"}
"""Record types without a record: a record type's table begins with its first row."""

WRITTEN = {name: spec for name, spec in TABLES.items() if name not in NOT_IN_THE_CAPTURES}

NULL_IN_KEY = {
    "topic_content": {"group_id", "topic"},
    "partition_handover": {"topic_id", "acquired_offset", "released_offset"},
    "task_handover": {"subtopology_id", "connector", "acquired_offset", "released_offset"},
    "ownership": {"topic_id", "subtopology_id", "role"},
    "member_assignment": {"topic_id", "topic", "subtopology_id", "connector", "role"},
    "membership": {"joined_offset", "left_offset"},
    "anomaly": {"member_id"},
    "commit_progress": {"member_id", "acquired_offset"},
    "diagnosis": {"group_id", "incarnation"},
    "log": {"partition", "offset"},
    "quarantine": {"partition", "offset"},
}
"""Columns of a key that are null where the log does not say where something began or ended."""


@pytest.mark.parametrize("spec", WRITTEN.values(), ids=lambda spec: spec.name)
class TestEveryTable:
    def test_columns_their_order_nulls_and_comments_are_those_of_the_spec(self, audits, spec):
        schema = StructType.fromJson(json.loads(DeltaTable(audits.out / spec.name).schema().to_json()))
        assert schema == spark_schema(spec)
        assert [field.metadata["comment"] for field in schema] == [column.comment for column in spec.columns]

    def test_any_delta_reader_can_read_it(self, audits, spec):
        table = DeltaTable(audits.out / spec.name)
        protocol = table.protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
        assert not protocol.reader_features
        assert table.metadata().configuration == {}
        assert table.metadata().partition_columns == ["cluster"]
        assert table.metadata().description == spec.comment

    def test_its_key_is_unique_and_required(self, audits, spec):
        rows = DeltaTable(audits.out / spec.name).to_pyarrow_table()
        if spec.name == "log":
            # Rows that say what a file covers, or what a run knows, lie beside the records.
            rows = rows.filter(pc.not_equal(rows["content"], KNOWLEDGE))
        keys = [repr(row) for row in rows.select(list(spec.key)).to_pylist()]  # a key may be a struct
        assert len(set(keys)) == len(keys)
        required = {column.name for column in spec.columns if column.required}
        assert set(spec.key) - required == NULL_IN_KEY.get(spec.name, set())

    def test_it_holds_rows_of_the_audited_clusters_alone(self, audits, spec):
        rows = DeltaTable(audits.out / spec.name).to_pyarrow_table(columns=["cluster"])
        assert set(rows["cluster"].to_pylist()) <= set(CLUSTERS.values())


@pytest.mark.parametrize("spec", few(list(WRITTEN.values()), 6, "tables in Spark"), ids=lambda spec: spec.name)
def test_who_opens_a_table_in_spark_reads_what_it_is(spark, audits, spec):
    told = spark.sql(f"DESCRIBE TABLE EXTENDED delta.`{audits.out / spec.name}`").collect()
    columns = told[: len(spec.columns)]
    assert [(row.col_name, row.comment) for row in columns] == [(each.name, each.comment) for each in spec.columns]
    assert [row.data_type for row in told if row.col_name == "Comment"] == [spec.comment]


def test_most_tables_have_rows(audits):
    assert {path.name for path in audits.out.iterdir() if (path / "_delta_log").is_dir()} == WRITTEN.keys()
    assert {name for name in WRITTEN if not DeltaTable(audits.out / name).to_pyarrow_table().num_rows} == WITHOUT_ROWS
