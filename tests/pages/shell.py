"""A shell in which the commands of the pages run as they stand, in an installation of the test's own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.forked import path_of
from tests.programs import found
from tests.site.snippets import ROOT, Block

MADE = {".venv", "instance", ".git", "network.json"}
"""What an installation has of its own; everything else is the repository's."""

ELSEWHERE = (
    "/opt/gateway", "/etc/", "/var/log/gateway", "/var/lib/postgresql", "/backups/", "/run/secrets/",
    "/usr/local/share/ca-certificates/",
)  # fmt: skip
"""Places of a machine that an installation has below its own root."""

STANDINS = """\
note() { printf '%s ' "$@" >> "$NOTES"; echo >> "$NOTES"; }
install() {  # without -o and -g: the test is anybody
    local kept=()
    while [ $# -gt 0 ]; do
        case $1 in -o|-g) shift 2 ;; *) kept+=("$1"); shift ;; esac
    done
    note install "${kept[@]}"; command install "${kept[@]}"
}
sleep() { :; }
until_said() {  # a command that goes on until it is ended: this ends it once it has said the words
    local words=$1; shift
    : > "$NOTES.said"  # before it starts: it holds the words of the command before
    "$@" >> "$NOTES.said" 2>&1 &
    until grep -q "$words" "$NOTES.said"; do
        kill -0 $! || { cat "$NOTES.said"; return 1; }; command sleep 0.1
    done
    kill -TERM $!; wait $!; cat "$NOTES.said"
}
"""
NOTED = ("systemctl", "chown", "chattr", "useradd", "apt-get", "git", "docker", "update-ca-certificates")
"""Programs that change the machine: what they would do is noted."""


@dataclass
class Shell:
    """What commands of pages find: the code in /opt/gateway, programs, settings and the folders of a machine.

    :param root: holds all of the machine's folders that commands name.
    """

    root: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> Path:
        return self.root / "opt/gateway"

    @property
    def notes(self) -> list[str]:
        """The commands that were only noted, and those of ``install``."""
        file = self.root / "notes"
        return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []

    def run(
        self, block: Block | str, changes: Mapping[str, str] | None = None, before: str = "", code: int = 0
    ) -> str:
        """Type a block in the folder of the code; what it printed.

        :param changes: what stands for the placeholders of the block, each of which must be there.
        :param before: typed first.
        :param code: how the block has to end.
        """
        text = block if isinstance(block, str) else block.code
        for shown, here in (changes or {}).items():
            assert shown in text, shown
            text = text.replace(shown, here)
        text = re.sub(rf"(?<!\w)(?={'|'.join(ELSEWHERE)})", str(self.root), text)
        noted = "".join(f'{name}() {{ note {name} "$@"; }}\n' for name in NOTED)
        script = f"set -eu -o pipefail\n{STANDINS}{noted}{before}\n{text}\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.code,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        path = f"{self.code / '.venv/bin'}:{kept.get('PATH', '')}"
        ours = {"PATH": path, "NOTES": str(self.root / "notes"), "PYTHONDONTWRITEBYTECODE": "1"}
        return kept | ours | self.settings


def installation(root: Path) -> Shell:
    """An installation in a folder."""
    shell = Shell(root)
    programs = shell.code / ".venv/bin"
    programs.mkdir(parents=True)
    (shell.code / "instance").mkdir()
    for place in ELSEWHERE[1:]:
        (root / place.strip("/")).mkdir(parents=True, exist_ok=True)
    for path in ROOT.iterdir():
        if path.name not in MADE:
            (shell.code / path.name).symlink_to(path)
    (shell.code / "deploy").unlink()
    shutil.copytree(ROOT / "deploy", shell.code / "deploy")  # commands write there
    for name in ("python", "gunicorn"):
        # Not a link: the environment of a Python is where its program is.
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(found(name) or sys.executable)} "$@"\n')
        (programs / name).chmod(0o755)
    (programs / "flask").symlink_to(path_of("flask"))
    return shell
