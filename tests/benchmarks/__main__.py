"""Measures what is named, or everything: `python -m tests.benchmarks [decoder jobs audits …] [--millions 1 10 50]`.

Prints one table as it comes, and writes it as JSON.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import audits, decoder, jobs, live, nightly, replays, segments, startup
from tests.benchmarks.results import HEAD, Measure, write_json

PARTS = {
    "decoder": lambda _: decoder.measure(),
    "segments": lambda _: segments.measure(),
    "jobs": jobs.measure,
    "startup": lambda _: startup.measure(),
    "audits": audits.measure,
    "nightly": nightly.measure,
    "live": live.measure,
    "replays": replays.measure,
}


def measured(parts: list[str], millions: list[int]) -> Iterator[Measure]:
    for part in parts:
        for measure in PARTS[part](millions):
            print(measure.line(), flush=True)
            yield measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--millions", nargs="+", type=int, default=[1, 10, 50], help="sizes of logs (default: 1 10 50)")
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"), help="default: %(default)s")
    options = parser.parse_args()
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    print(HEAD)
    write_json(options.json, list(measured(options.parts or list(PARTS), options.millions)))
    print(f"as JSON: {options.json}")


if __name__ == "__main__":
    main()
