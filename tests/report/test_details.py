"""What `kip848 audit --verbose` adds to the summary."""

from types import SimpleNamespace

from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.report.details import details

CAPTURE = "kafka-4.3.1"


def printed(parts):
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return captured.get()


def test_records_by_type_and_answers_to_questions(audits):
    text = printed(details(DuckTables(str(audits.out)), audits.audits[CAPTURE]))
    count = sum(audits.audits[CAPTURE].records.values())
    assert f"{count:,} records read, 0 rows quarantined, 0 of unknown type" in text
    assert "ConsumerGroupCurrentMemberAssignment" in text
    assert "Which groups are stuck now, since when, and who blocks them?" in text
    assert "slow-revoke" in text
    assert text.rstrip().endswith(f"Delta tables are in {audits.out}/")


def test_one_row_is_no_rows(audits):
    audit = audits.audits[CAPTURE]
    one = SimpleNamespace(**(vars(audit) | {"records": {3: 1}, "quarantined": 1, "copies": 1}))
    text = printed(details(DuckTables(str(audits.out)), one))
    assert text.startswith("\n1 record read, 1 row quarantined, 0 of unknown type, ")
