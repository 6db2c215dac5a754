"""``make docs``: the pages of the repository as the site that the gateway serves at ``/docs``.

``ensure_site`` builds it when one of its sources has changed. The generator is Zensical: it reads the
settings of mkdocs-material, searches without a server, and refuses broken links. Only this module and
``theme/`` use it.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from config import DOCS_SITE
from scripts.docs_site.failure import CannotBuild
from scripts.docs_site.finish import finish
from scripts.docs_site.llms import NAME, llms_text, write_pages
from scripts.docs_site.nav import as_toml, navigation
from scripts.docs_site.pages import Library

ROOT: Final = Path(__file__).resolve().parents[2]
THEME: Final = Path(__file__).parent / "theme"
STAMP: Final = ".stamp"
WORKSHOP: Final = "site-"
"""The beginning of the names of folders in which the site is built."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")

OTHERS: Final = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
"""Pages outside of ``docs/``, each with its place on the site."""


def ensure_site(site: Path = DOCS_SITE, root: Path = ROOT) -> bool:
    """Build the site unless it is there and up to date. Returns whether it was built.

    :raises CannotBuild: a page is wrong, or the generator failed or is not installed.
    """
    wanted = fingerprint(root)
    stamp = site / STAMP
    site.parent.mkdir(parents=True, exist_ok=True)
    with (site.parent / f"{site.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may start at once
        for left in site.parent.glob(f"{WORKSHOP}*"):  # by a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return False
        build(site, root, wanted)
    return True


def fingerprint(root: Path) -> str:
    """A hash of the site's sources: pages, the files that they link to, their design, and the generator.

    :raises CannotBuild: a page links to a file that is not there.
    """
    library = Library(root, OTHERS)
    sources = library.sources()
    for source in sources:
        library.page(source)
    pictures = [path for path in (root / "docs").rglob("*") if path.is_file() and path.suffix != ".md"]
    tools = [path for path in (root / "scripts" / "docs_site").rglob("*") if path.suffix != ".pyc"]
    linked = [root / name for name in (*sources, *library.copied, "requirements-dev.txt")]
    digest = hashlib.sha256()
    for path in sorted({*pictures, *tools, *linked}):
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def build(site: Path, root: Path, stamp: str) -> None:
    """Build into a folder next to the site, then replace the site: a server never sees an incomplete one.

    :raises CannotBuild: see ``ensure_site``.
    """
    with tempfile.TemporaryDirectory(dir=site.parent, prefix=WORKSHOP) as folder:
        workshop = Path(folder)
        stage(workshop, root)
        generate(workshop)
        finish(workshop / "site")
        write_text(workshop / "site", root)
        (workshop / "site" / STAMP).write_text(stamp, encoding="utf-8")
        if site.exists():
            site.rename(workshop / "before")
        (workshop / "site").rename(site)


def stage(workshop: Path, root: Path) -> None:
    """Write what the generator reads: pages, pictures, files that pages link to, and its settings."""
    library = Library(root, OTHERS)
    pages = workshop / "docs"
    shutil.copytree(root / "docs", pages, ignore=shutil.ignore_patterns("*.md"))
    shutil.copytree(THEME / "assets", pages / "assets")
    for source in library.sources():
        page = pages / library.place(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(library.page(source), encoding="utf-8")
    for source in library.copied:
        copy = pages / library.place(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, copy)
    shutil.copytree(THEME / "overrides", workshop / "overrides")
    settings = (THEME / "zensical.toml").read_text(encoding="utf-8")
    menu = as_toml(navigation(library, THEME / "nav.toml"))
    (workshop / "zensical.toml").write_text(f"[project]\nnav = {menu}\n{settings}", encoding="utf-8")


def write_text(site: Path, root: Path) -> None:
    """Write what language models read: the pages as Markdown, and their list."""
    library = Library(root, OTHERS)
    menu = navigation(library, THEME / "nav.toml")
    (site / NAME).write_text(llms_text(library, menu, THEME / "zensical.toml"), encoding="utf-8")
    write_pages(library, site)


def generate(workshop: Path) -> None:
    """Run the generator, which refuses pages with broken links.

    :raises CannotBuild: with its message.
    """
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    try:
        done = subprocess.run(command, cwd=workshop, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        raise CannotBuild("the generator did not end") from None
    if done.returncode or not (workshop / "site" / "index.html").exists():
        printed = _COLOURS.sub("", f"{done.stdout}{done.stderr}").strip()
        said, _, _ = printed.partition("Traceback (")
        *_, last = printed.splitlines() or [f"the generator ended with {done.returncode}"]
        raise CannotBuild(said.strip() or last)


def main() -> None:
    try:
        built = ensure_site()
    except CannotBuild as failed:
        raise SystemExit(f"The documentation was not built:\n{failed}") from None
    sys.stdout.write(f"The documentation is {'built' if built else 'up to date'}: {DOCS_SITE}\n")


if __name__ == "__main__":
    main()
