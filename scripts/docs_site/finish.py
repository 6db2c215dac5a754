"""A page of the generator as it is served: without scripts and styles, so that its policy can forbid them.

Each inline script becomes a file that is named by its content and loaded at the same place. Columns of
tables are aligned by an attribute, and one without a name has no empty heading, which would be read out.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from posixpath import relpath
from typing import Final

from scripts.docs_site.failure import CannotBuild

SCRIPTS: Final = "assets/inline"

_INLINE: Final = re.compile(r"<script>(.+?)</script>", re.DOTALL)
_STYLED: Final = re.compile(r"<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)
_ALIGNED: Final = re.compile(r' style="text-align: (left|center|right);"')
_CODE: Final = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)


def finish(site: Path) -> None:
    """Rewrite every page of the built site in place.

    :raises CannotBuild: a page has a style or a handler in it, which the policy forbids.
    """
    for page in sorted(site.rglob("*.html")):
        text = _ALIGNED.sub(r' align="\1"', page.read_text(encoding="utf-8"))
        text = text.replace("<th></th>", "<td></td>")
        inner = page.relative_to(site).as_posix()
        page.write_text(without_scripts(site, inner, text), encoding="utf-8")
        if found := _STYLED.search(_CODE.sub("", re.sub(r">[^<]*<", "><", text))):
            raise CannotBuild(f"{inner}: {found[0].strip()} is not allowed in a page")


def without_scripts(site: Path, page: str, text: str) -> str:
    """The page with its inline scripts as files, which are written."""

    def moved(script: re.Match[str]) -> str:
        name = f"{hashlib.sha256(script[1].encode()).hexdigest()[:8]}.js"
        file = site / SCRIPTS / f"script.{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script[1], encoding="utf-8")
        address = relpath(f"{SCRIPTS}/{file.name}", str(Path(page).parent))
        return f'<script src="{address}"></script>'

    return _INLINE.sub(moved, text)
