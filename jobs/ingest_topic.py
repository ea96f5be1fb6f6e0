"""The audit of a live topic as a stream; takes the arguments of ``kip848 audit``, and needs a checkpoint.

spark-submit --properties-file conf/spark-defaults.conf jobs/ingest_topic.py kafka://... --checkpoint DIR --out DIR ...
"""

import sys

from kip848_records.cli import main

if __name__ == "__main__":
    if not any(argument.split("=")[0] == "--checkpoint" for argument in sys.argv[1:]):
        sys.exit("error: a stream needs a folder to keep in how far it came\nhint: name one with --checkpoint")
    # spark-submit ends with the exit code of its Python program; some platforms take any call of exit for a failure.
    if code := main(["audit", *sys.argv[1:]]):
        sys.exit(code)
