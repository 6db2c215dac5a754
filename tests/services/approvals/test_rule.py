"""What TWO_PERSONS can name, and who writes what it guards."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from app.domain.proposals.two_persons import ADMINISTERED
from app.services.network.sections import SECTIONS
from config import GUARDABLE

APP = Path(__file__).resolve().parents[3] / "app"

TABLES = [section.model.__name__ for section in SECTIONS] + ["Operator", "IngestToken", "ApiKey"]
WRITE = re.compile(rf"\b(?:insert|update|delete|upsert)\([^()]*\b({'|'.join(TABLES)})\b")
"""A statement that changes one of the guarded tables."""

UNASKED = ("apply", "import_within", "save_changes", "change_account", "create_within")
"""Functions that write guarded rows for a caller who has asked for leave."""
CALL = re.compile(rf"(?<!def )\b({'|'.join(UNASKED)})\((?=connection|\n)")

WRITERS = {
    "services/operators/accounts.py": {"Operator", "create_within", "change_account"},
    "services/operators/code_keys.py": {"Operator"},  # the same secrets under another key
    "services/operators/factors.py": {"change_account"},
    "services/operators/sessions.py": {"Operator"},  # the time and place of a sign-in
    "services/reporters/new_tokens.py": {"IngestToken", "create_within"},
    "services/reporters/tokens.py": {"IngestToken"},
    "services/api_keys/keys.py": {"ApiKey", "create_within"},
    "services/network/document.py": {"apply", "import_within"},
    "services/network/edits/saving.py": {"apply", "save_changes"},
    "services/network/edits/blocks.py": {"save_changes"},
    "services/approvals/network.py": {"save_changes"},
    "services/approvals/operators.py": {"create_within", "change_account"},
    "services/approvals/tokens.py": {"create_within"},
    "services/approvals/api_keys.py": {"create_within"},
    "sandbox/loader.py": {"import_within"},  # into an empty database alone
}
"""Every module that writes what can be guarded. Another one has to ask for leave, then it stands here."""


def test_every_section_can_be_named() -> None:
    assert set(GUARDABLE) == {section.name for section in SECTIONS} | ADMINISTERED


def test_every_writer_of_what_is_guarded_is_known() -> None:
    found = defaultdict(set)
    for file in APP.rglob("*.py"):
        text = file.read_text()
        for match in (*WRITE.finditer(text), *CALL.finditer(text)):
            found[file.relative_to(APP).as_posix()].add(match[1])
    assert found == WRITERS
