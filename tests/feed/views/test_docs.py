"""docs/ingest.md names what the code has: types, fields, ids, limits. tests/pages runs its commands."""

from __future__ import annotations

import re
from pathlib import Path

from app.feed import views
from app.feed.lines import MAX_LINE_BYTES
from app.feed.services.ingest import BATCH
from app.transfers.rules.events.event_types import EVENT_CLASSES, REPORTED, ChainHead, EventsRetracted
from app.transfers.rules.events.fields import fields_of

PAGE = (Path(__file__).parents[3] / "docs" / "ingest.md").read_text()


def test_page_has_every_type_and_field() -> None:
    reported = dict(re.findall(r"^\| (`[a-z._`, ]+`) \| ([^|]*) \|", PAGE, re.MULTILINE))
    for event_type, declared in ((name, fields_of(EVENT_CLASSES[name])) for name in REPORTED):
        (row,) = [fields for types, fields in reported.items() if f"`{event_type}`" in types]
        unnamed = {"id", "at", "block_hash", "log_index"}
        if event_type != ChainHead.type:
            unnamed.add("block")
        for field in declared:
            optional = "" if field.required else "?"
            if field.name not in unnamed:
                assert re.search(rf"\b{field.name}\b(\[\])?{re.escape(optional)}", row), (event_type, field)
    assert set(EVENT_CLASSES) - set(REPORTED) == {EventsRetracted.type}


def test_page_has_the_limits_of_the_code() -> None:
    for shown in (
        f"| a line | {MAX_LINE_BYTES >> 10} KiB |",
        f"| lines in a body | {views.MAX_LINES:,} |",
        f"| a body, as sent and inflated | {views.MAX_BYTES >> 20} MiB |",
        f"| silence while sending | {views.SILENCE_SECONDS} s |",
        f"in batches of up to {BATCH}.",
    ):
        assert shown in PAGE, shown
