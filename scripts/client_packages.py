"""``make client-packages``: the client libraries as packages to publish, in ``build/clients``.

Their sources have neither version nor addresses: the version is the gateway's, the addresses are those of
whoever publishes (docs/releases.md#clients).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from app.release import VERSION
from scripts.clients import PYTHON, ROOT, TYPESCRIPT

OUT: Final = ROOT / "build" / "clients"
COPIED: Final = shutil.ignore_patterns(
    "node_modules", "dist", "build", "tests", "test", "__pycache__", "*.egg-info", ".mypy_cache"
)
SOURCE_VERSION: Final = "0.0.0"
"""Of what is installed from the folders of a copy of the repository."""

_ABOVE: Final = re.compile(r"\[([^\]]+)\]\(\.\./\.\./([^)]+)\)")


class Links(Struct, frozen=True):
    """Where the project of whoever publishes is; empty where that is not public.

    ``repository`` is such as ``https://git.example.org/you/gateway``, ``docs`` the address of the pages.
    """

    repository: str = ""
    docs: str = ""

    def readme(self, text: str) -> str:
        """The text with links to the documentation, or names of its pages where it has no address."""

        def linked(found: re.Match[str]) -> str:
            page = found[2].removeprefix("docs/").replace(".md", "/")
            return f"[{found[1]}]({self.docs.rstrip('/')}/{page})" if self.docs else found[1]

        return _ABOVE.sub(linked, text)


def package_json(text: str, version: str, links: Links) -> str:
    package: dict[str, Any] = json.loads(text)
    package["version"] = version
    del package["scripts"]  # who installs it has nothing to run
    if links.repository:
        url = f"git+{links.repository.removesuffix('.git')}.git"
        package["repository"] = {"type": "git", "url": url, "directory": "clients/typescript"}
    if links.docs:
        package["homepage"] = links.docs
    return json.dumps(package, indent=2) + "\n"


def pyproject(text: str, version: str, links: Links) -> str:
    stamped = text.replace(f'version = "{SOURCE_VERSION}"', f'version = "{version}"', 1)
    if stamped == text:
        raise ValueError(f"pyproject.toml has no version {SOURCE_VERSION}")
    named = {"Repository": links.repository, "Documentation": links.docs}
    urls = "".join(f'{name} = "{url}"\n' for name, url in named.items() if url)
    return f"{stamped}\n[project.urls]\n{urls}" if urls else stamped


def prepared(
    source: Path, file: str, stamp: Callable[[str, str, Links], str], to: Path, links: Links
) -> Path:
    """A copy of a library with its version, licence and addresses."""
    folder = to / source.name
    shutil.copytree(source, folder, ignore=COPIED)
    shutil.copy(ROOT / "LICENSE", folder)
    for name, change in ((file, lambda text: stamp(text, VERSION, links)), ("README.md", links.readme)):
        made = folder / name
        made.write_text(change(made.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def build_python(folder: Path, out: Path) -> None:
    """Build wheel and source distribution.

    :raises subprocess.CalledProcessError: uv failed, and has printed why.
    """
    uv = str(Path(sys.executable).parent / "uv")
    subprocess.run([uv, "build", "--quiet", "--out-dir", str(out), str(folder)], check=True)


def build_typescript(folder: Path, out: Path) -> None:
    """Compile for both kinds of modules, and pack.

    :raises subprocess.CalledProcessError: npm or the compiler failed, and has printed why.
    """
    subprocess.run(["node", "build.mjs"], cwd=folder, check=True)
    pack = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(out)]
    subprocess.run(pack, cwd=folder, check=True)


def main(arguments: Sequence[str] | None = None, out: Path = OUT) -> None:
    parser = argparse.ArgumentParser("make client-packages", description=__doc__)
    parser.add_argument("--repository", default="", help="the address of your repository")
    parser.add_argument("--docs", default="", help="the address of your documentation")
    given = parser.parse_args(arguments)
    links = Links(given.repository, given.docs)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        build_python(prepared(PYTHON, "pyproject.toml", pyproject, Path(temporary), links), out)
        build_typescript(prepared(TYPESCRIPT, "package.json", package_json, Path(temporary), links), out)
    print(*sorted(str(each) for each in out.iterdir() if each.name != ".gitignore"), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
