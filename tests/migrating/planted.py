"""A folder of migrations with further ones behind those of the repository, to try what runs them."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import indent
from typing import Final

from app.db.schema import newest_schema

ROOT: Final = Path(__file__).resolve().parents[2]

PLANTED: Final = 'op.create_table("planted", sa.Column("id", sa.BigInteger(), primary_key=True))'
"""A harmless upgrade."""

_REVISION: Final = '''"""Planted by a test."""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns, by_range, create_index, drop_index

revision = "{revision}"
down_revision = "{down_revision}"


def upgrade() -> None:
{upgrade}


def downgrade() -> None:
{downgrade}
'''


def plant(folder: Path, *upgrades: str, downgrade: str = "pass") -> str:
    """Copy the migrations into a folder and add one for each of these texts: 9001, 9002 and so on.

    :returns: the directory for ``flask db``.
    """
    target = folder / "migrations"
    shutil.copytree(ROOT / "migrations", target, ignore=shutil.ignore_patterns("__pycache__"))
    before = newest_schema()
    for number, text in enumerate(upgrades, start=9001):
        (target / "versions" / f"{number}_planted.py").write_text(
            _REVISION.format(
                revision=number,
                down_revision=before,
                upgrade=indent(text, "    "),
                downgrade=indent(downgrade, "    "),
            ),
            encoding="utf-8",
        )
        before = str(number)
    return str(target)
