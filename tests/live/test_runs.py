"""After any number of runs the tables are what one run over all that was read would have written."""

import pytest

from kip848_records.sources import read_log
from tests.live.topics import Topic, as_consumed, ends_of, tables


@pytest.fixture(scope="module")
def log(spark, captures, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("log") / "rows")
    as_consumed(read_log(spark, str(captures / "kafka-4.3.1" / "segments"))).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def ends(log):
    return ends_of(log)


@pytest.fixture(scope="module")
def once(spark, log, ends, tmp_path_factory):
    out = tmp_path_factory.mktemp("once")
    Topic(spark, log, ends).audit(out)
    return tables(out)


def part(ends, nth, of):
    return {partition: end * nth // of for partition, end in ends.items()}


class KilledError(Exception):
    pass


def test_interrupted_runs_write_what_one_would(spark, log, ends, once, tmp_path):
    """Each run is stopped somewhere else between its commits, but for the last."""
    topic = Topic(spark, log, {})
    for nth, steps in enumerate((5, 28, 4, 9, 1000), start=1):
        topic.until = part(ends, nth, 5)
        left = [steps]

        def stop(said, left=left):
            if said.startswith("wrote"):
                left[0] -= 1
                if not left[0]:
                    raise KilledError

        if steps < 1000:
            with pytest.raises(KilledError):
                topic.audit(tmp_path, progress=stop)
        else:
            topic.audit(tmp_path)
    written = tables(tmp_path)
    assert written.keys() == once.keys()
    for name in once:
        assert written[name] == once[name], name
