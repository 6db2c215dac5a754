"""``make errors``: write the catalogue of errors into docs/errors.md."""

from __future__ import annotations

from pathlib import Path

from app.api.openapi.document import catalogue

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"


def main() -> None:
    """Write everything from the heading *Codes* on again."""
    before, heading, _ = PAGE.read_text(encoding="utf-8").partition("## Codes\n")
    if not heading:
        raise SystemExit(f"{PAGE} has no heading Codes: write it")
    PAGE.write_text(f"{before}{catalogue()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
