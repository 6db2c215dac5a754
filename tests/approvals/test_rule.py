"""What TWO_PERSONS can name, and who writes what it guards."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from app.accounts.rules.two_persons import ADMINISTERED
from app.network.sections import SECTIONS
from config import GUARDABLE

APP = Path(__file__).resolve().parents[2] / "app"

TABLES = [section.model.__name__ for section in SECTIONS]
TABLES += ["Operator", "IngestToken", "ApiKey", "Credential", r"kind\.model"]
WRITE = re.compile(rf"\b(?:insert|update|delete|upsert)\([^()]*\b({'|'.join(TABLES)})\b")
"""A statement that changes one of the guarded tables."""

UNCHECKED = ("apply", "import_within", "change_account", "insert_account", "run")
"""Functions that write guarded rows for a caller who has checked for approval."""
CALL = re.compile(rf"(?<!def )\b({'|'.join(UNCHECKED)})\((?=connection|\n)")

WRITERS = {
    "accounts/services/account_changes.py": {"insert_account", "change_account"},
    "accounts/services/accounts.py": {"Operator", "change_account"},
    "accounts/services/code_keys.py": {"Operator"},  # the same secrets under another key
    "accounts/services/sessions.py": {"Operator"},  # the time and place of a sign-in
    "accounts/services/proposals.py": {"run"},  # a command, which it has checked
    "credentials/services/issued.py": {"kind.model"},
    "credentials/services/issuing.py": {"kind.model"},
    "network/document.py": {"apply"},
    "network/edits/save.py": {"apply"},
    "approvals/decide.py": {"run"},
    "sandbox/services.py": {"import_within"},  # only into an empty database
}
"""Every module that writes what can be guarded. A new one has to check for approval."""


def test_every_section_can_be_named() -> None:
    assert set(GUARDABLE) == {section.name for section in SECTIONS} | ADMINISTERED


def test_every_guarded_writer_is_known() -> None:
    found = defaultdict(set)
    for file in APP.rglob("*.py"):
        text = file.read_text()
        for match in (*WRITE.finditer(text), *CALL.finditer(text)):
            found[file.relative_to(APP).as_posix()].add(match[1])
    assert found == WRITERS
