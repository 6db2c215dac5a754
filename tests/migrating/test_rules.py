"""The rules for migrations (CONTRIBUTING, "A migration") hold for every one, and would be broken visibly."""

from __future__ import annotations

from collections.abc import Set

import pytest

from scripts import lint_migrations
from scripts.lint_migrations import complaints_in, exemptions, revisions, sql_of

TAKES_AWAY = {
    "ban-drop-column", "ban-drop-table", "ban-drop-not-null", "ban-drop-default", "ban-drop-constraint",
    "renaming-column", "renaming-table", "changing-column-type", "adding-not-nullable-field",
    "adding-required-field",
}  # fmt: skip
"""Rules of squawk about what the code before would not survive, or might rely on."""


def wrong_with(phase: str, exempt: Set[str], sql: str) -> str | None:
    """What a migration must not say of itself."""
    if phase == "expand":
        return "what takes something away contracts" if TAKES_AWAY & exempt else None
    if phase != "contract":
        return "a migration expands or contracts"
    noted = "INSERT INTO schema_floors" in sql
    return None if noted else "code that it takes something from must not be ready"


def test_every_migration_declares_its_phase() -> None:
    for script in revisions(since=""):
        sql = sql_of(f"{script.down_revision or 'base'}:{script.revision}")
        assert wrong_with(script.module.PHASE, exemptions(script).keys(), sql) is None


def test_exemption_has_reason_and_is_needed() -> None:
    for script in revisions():
        exempt = exemptions(script)
        assert all(len(reason) > 10 for reason in exempt.values())
        if exempt:
            sql = sql_of(f"{script.down_revision}:{script.revision}")
            assert exempt.keys() <= {each.rule for each in complaints_in(script.revision, sql)}


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("CREATE INDEX i ON transfers (status);", "require-concurrent-index-creation"),
        ("ALTER TABLE transfers DROP COLUMN kind;", "ban-drop-column"),
        ("ALTER TABLE transfers RENAME COLUMN kind TO sort;", "renaming-column"),
        ("ALTER TABLE transfers ALTER COLUMN kind SET NOT NULL;", "adding-not-nullable-field"),
        ("ALTER TABLE transfers ALTER COLUMN kind TYPE int;", "changing-column-type"),
        ("DROP TABLE transfers;", "ban-drop-table"),
    ],
)
def test_locking_or_removing_sql_is_found(sql: str, rule: str) -> None:
    found = {each.rule for each in complaints_in("9999", f"SET lock_timeout = '1s';\nBEGIN;\n{sql}\nCOMMIT;")}
    assert rule in found
    assert rule not in lint_migrations.EVERYWHERE
