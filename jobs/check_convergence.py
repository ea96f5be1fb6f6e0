"""The check of expectations as a Spark job; takes the arguments of ``kip848 check``, and has its exit codes.

spark-submit --properties-file conf/spark-defaults.conf jobs/check_convergence.py DIR|SOURCE ...
"""

import sys

from kip848_records.cli import main

if __name__ == "__main__":
    # spark-submit ends with the exit code of its Python program; some platforms take any call of exit for a failure.
    if code := main(["check", *sys.argv[1:]]):
        sys.exit(code)
