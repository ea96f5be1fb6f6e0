"""What fell by more than a third: a few ratios, measured again, against those on record in `recorded.json`.

Run it as `python -m tests.benchmarks.smoke`, with `--record` to put those of today on record.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks import decoder, jobs
from tests.benchmarks.results import HEAD, Measure

RECORDED = Path(__file__).parent / "recorded.json"
LEAST = 2 / 3
STEADY = ("a loop", "an identity mapInArrow")
"""What ratios of are told: a scan of so few rows takes too little time to be measured by."""


def measure() -> Iterator[Measure]:
    """Yield what takes about a minute to measure and tells most."""
    yield from decoder.measure([1, 5, 7, 8])
    yield from jobs.measure([1], turns=1)


def main() -> None:
    print(HEAD)
    found: dict[str, float] = {}
    for measured in measure():
        print(measured.line(), flush=True)
        steady = {name: ratio for name, ratio in measured.ratios.items() if name in STEADY}
        found |= {f"{measured.what}, as fast as {name}": round(ratio, 3) for name, ratio in steady.items()}
    if "--record" in sys.argv[1:]:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    fallen = {name: ratio for name, ratio in found.items() if ratio < LEAST * recorded.get(name, 0)}
    for name, ratio in fallen.items():
        print(f"fell by more than a third: {name}: {ratio:g}, was {recorded[name]:g}")
    missing = recorded.keys() - found.keys()
    for name in sorted(missing):
        print(f"on record, but not measured: {name}")
    if fallen or missing:
        raise SystemExit(1)
    print(f"none of {len(found)} ratios fell by more than a third")


if __name__ == "__main__":
    main()
