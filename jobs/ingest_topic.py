"""The audit of a live topic through Spark's Kafka source; takes the arguments of ``kip848 audit``.

spark-submit --properties-file conf/spark-defaults.conf jobs/ingest_topic.py kafka://... --out DIR ...
"""

import sys

from kip848_records.cli import main

if __name__ == "__main__":
    # spark-submit ends with the exit code of its Python program; some platforms take any call of exit for a failure.
    if code := main(["audit", "--engine", "spark", *sys.argv[1:]]):
        sys.exit(code)
