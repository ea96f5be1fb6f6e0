"""Tables are kept out of sources and of brokers' data folders on other file systems, too."""

import pytest

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.sources.listing import Copy
from kip848_records.sources.outputs import check_apart


@pytest.fixture
def elsewhere(monkeypatch):
    """As if all paths were of another file system, which Spark lists."""
    monkeypatch.setattr("kip848_records.spark.files.local_path", lambda *_: None)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("sign", ["meta.properties", "__consumer_offsets-0/00000000000000000000.log"])
def test_a_broker_s_data_folder(spark, tmp_path, sign):
    (tmp_path / sign).parent.mkdir(exist_ok=True)
    (tmp_path / sign).touch()
    with pytest.raises(InputError, match=f"--out {tmp_path} lies in .* {tmp_path} has {sign.split('/')[0]}; pass"):
        check_apart(SparkEngine(spark), [], str(tmp_path))


@pytest.mark.usefixtures("elsewhere")
def test_other_folders(spark, tmp_path):
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / "meta.properties").touch()
    for out in (tmp_path, tmp_path / "new"):
        check_apart(SparkEngine(spark), [Copy("/dump", "parquet", [])], str(out))


@pytest.mark.usefixtures("elsewhere")
def test_a_source(spark):
    with pytest.raises(InputError, match=r"^--out s3a://b/log/out lies in the source s3a://b/log; "):
        check_apart(SparkEngine(spark), [Copy("s3a://b/log", "segments", [])], "s3a://b/log/out")


def test_on_this_machine(engine, tmp_path):
    with pytest.raises(InputError, match=f"^--out {tmp_path} is the source {tmp_path}; pass"):
        check_apart(engine, [Copy(str(tmp_path), "segments", [])], str(tmp_path))
