"""The tables as other readers see them: plain Delta, with the columns, comments and keys of their specs."""

import json

import pytest
from deltalake import DeltaTable
from pyspark.sql.types import StructType

from kip848_records.tables.specs import TABLES
from tests.audits import CLUSTERS

PARTITIONED_BY = {"epoch_timeline": "status", "rebalance_lag": "status", "group_state_timeline": "history"}
"""By which column a table is partitioned besides the cluster."""

# The log itself is kept of a live topic only.
OF_A_COPY = {name: spec for name, spec in TABLES.items() if name != "log"}


@pytest.mark.parametrize("spec", OF_A_COPY.values(), ids=lambda spec: spec.name)
class TestEveryTable:
    def test_columns_their_order_nulls_and_comments_are_those_of_the_spec(self, audits, spec):
        schema = StructType.fromJson(json.loads(DeltaTable(audits.out / spec.name).schema().to_json()))
        assert schema == spec.schema
        assert [field.metadata["comment"] for field in schema] == [column.comment for column in spec.columns]

    def test_any_delta_reader_can_read_it(self, audits, spec):
        table = DeltaTable(audits.out / spec.name)
        protocol = table.protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
        assert not protocol.reader_features
        assert table.metadata().configuration == {}
        also = PARTITIONED_BY.get(spec.name)
        assert table.metadata().partition_columns == ["cluster", *([also] if also else [])]
        assert table.metadata().description == spec.comment

    def test_its_key_is_unique_and_required(self, audits, spec):
        rows = DeltaTable(audits.out / spec.name).to_pyarrow_table(columns=list(spec.key)).to_pylist()
        keys = [tuple(row.values()) for row in rows]
        assert len(set(keys)) == len(keys)
        if spec.name != "quarantine":
            assert {column.name for column in spec.columns if column.required} >= set(spec.key)

    def test_it_holds_rows_of_the_audited_clusters_alone(self, audits, spec):
        rows = DeltaTable(audits.out / spec.name).to_pyarrow_table(columns=["cluster"])
        assert set(rows["cluster"].to_pylist()) <= set(CLUSTERS.values())


@pytest.mark.parametrize("spec", OF_A_COPY.values(), ids=lambda spec: spec.name)
def test_who_opens_a_table_in_spark_reads_what_it_is(spark, audits, spec):
    told = spark.sql(f"DESCRIBE TABLE EXTENDED delta.`{audits.out / spec.name}`").collect()
    columns = told[: len(spec.columns)]
    assert [(row.col_name, row.comment) for row in columns] == [(each.name, each.comment) for each in spec.columns]
    assert [row.data_type for row in told if row.col_name == "Comment"] == [spec.comment]


def test_most_tables_have_rows(audits):
    filled = {name for name in OF_A_COPY if DeltaTable(audits.out / name).to_pyarrow_table().num_rows}
    of_other_dialects = {"group_configuration", "consumer_group_target_assignment"}
    assert OF_A_COPY.keys() - filled - of_other_dialects == {
        "quarantine",
        "unknown_record",
        "share_group_partition_metadata",
    }
