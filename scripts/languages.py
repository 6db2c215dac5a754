"""``make languages``: bring the catalogues of the public pages up to date with their texts, compile them.

A text that is new has no translation afterwards: readers see it in English until somebody translates it in
the ``pages.po`` of each language and runs this again (docs/transfer-page.md#languages).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ROOT / "app" / "transfer_page"
TRANSLATIONS: Final = PAGES / "translations"
REASONS: Final = ROOT / "app" / "refunds" / "rules" / "explanation.py"
"""The pages show the reasons for which a contract may refuse."""

METHODS: Final = [("**.py", "python"), ("**/templates/**.html", "jinja2")]
KEYWORDS: Final = {
    "gettext": None,  # of the templates
    "text": None,
    "message": None,
    "plural": (1, 2),
    "OwnReason": (2,),
}
"""The functions whose arguments are texts, and which of the arguments."""

WIDTH: Final = 110
HEADER: Final = "# Texts of the pages of transfers: docs/transfer-page.md#languages"


def messages() -> Catalog:
    """The texts of the pages, in English."""
    catalog = Catalog(domain="pages", fuzzy=False, header_comment=HEADER)
    for _, _, text, _, _ in extract_from_dir(PAGES, METHODS, keywords=KEYWORDS):
        catalog.add(text)
    for _, text, _, _ in extract_from_file("python", REASONS, keywords=KEYWORDS):
        catalog.add(text)
    return catalog


def catalogues() -> Iterator[Path]:
    return iter(sorted(TRANSLATIONS.glob("*/LC_MESSAGES/pages.po")))


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.parents[1].name, domain="pages")


def updated(path: Path) -> Catalog:
    """The catalogue with the present texts only. What is translated stays translated."""
    known = read(path)
    catalog = Catalog(
        locale=path.parents[1].name,
        domain="pages",
        fuzzy=False,
        header_comment=HEADER,
        project="transfer-gateway",
        creation_date=known.creation_date,
        revision_date=known.revision_date,
    )
    for each in messages():
        if each.id and (translated := known.get(each.id)) is not None:
            catalog.add(each.id, translated.string, flags=each.flags)
        elif each.id:
            catalog.add(each.id, flags=each.flags)
    return catalog


def compiled(catalog: Catalog) -> bytes:
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def main() -> None:
    """Write both files of each language, and print what is missing."""
    for path in catalogues():
        catalog = updated(path)
        with path.open("wb") as file:
            write_po(file, catalog, sort_output=True, width=WIDTH, ignore_obsolete=True)
        path.with_suffix(".mo").write_bytes(compiled(catalog))
        missing = [each.id for each in catalog if each.id and not each.string]
        sys.stdout.write(f"{catalog.locale}: {len(catalog)} texts, {len(missing)} missing\n")


if __name__ == "__main__":
    main()
