"""The commands of an installation in docs/operations.md, as root would type them.

What they leave behind, and who reads it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY
from tests.programs import program
from tests.site.snippets import blocks_of

BLOCKS = blocks_of("docs/operations.md", "sh")
BEGIN, END = (
    next(n for n, block in enumerate(BLOCKS) if words in block.code) for words in ("umask 077", "systemd/env")
)
RUN = BLOCKS[BEGIN : END + 1]
STANDINS = """\
install() {  # without -o and -g: the test is anybody
    local kept=()
    while [ $# -gt 0 ]; do
        case $1 in -o|-g) shift 2 ;; *) kept+=("$1"); shift ;; esac
    done
    note install "${kept[@]}"; command install "${kept[@]}"
}
su() { note su "$@"; cat > "$ETC/sql"; }
systemctl() { note systemctl "$@"; }
sed() { note sed "$@"; command sed "$@"; }
note() { printf '%s ' "$@" >> "$ETC/processes"; echo >> "$ETC/processes"; }
set -eu -o pipefail
"""
SERVERS_READ = {
    "postgresql/15/main/conf.d/gateway.conf": 0o644,
    "pgbouncer/pgbouncer.ini": 0o644,
    "pgbouncer/place.ini": 0o644,
    "pgbouncer/userlist.txt": 0o600,
    "redis/users.acl": 0o600,
    "redis/redis.conf": 0o640,
    "gateway/secrets/secret_key": 0o600,
    "gateway/secrets/database_url": 0o600,
    "gateway/gateway.env": 0o600,
}


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    """What the commands of an installation leave in /etc, each typed into the same shell."""
    folder = tmp_path / "etc"
    for name in ("postgresql/15/main/conf.d", "pgbouncer", "redis", "systemd/system"):
        (folder / name).mkdir(parents=True)
    typed = "".join(f"{block.code}\n" for block in BLOCKS[BEGIN : END + 1])
    typed = typed.replace("/opt/gateway/deploy", str(DEPLOY)).replace("/etc/", f"{folder}/")
    script = f"ETC={folder}\n{STANDINS}{typed}"
    subprocess.run([program("bash")], input=script, text=True, check=True, capture_output=True, timeout=60)
    return folder


def test_servers_can_read_what_is_theirs_and_nobody_the_secrets(etc: Path) -> None:
    modes = {name: (etc / name).stat().st_mode & 0o777 for name in SERVERS_READ}
    assert modes == SERVERS_READ
    assert etc.joinpath("gateway").stat().st_mode & 0o777 == 0o700


def test_the_same_passwords_are_in_all_places_and_in_no_list_of_processes(etc: Path) -> None:
    secrets = {file.name: file.read_text().strip() for file in (etc / "gateway/secrets").iterdir()}
    owner, serving, redis = (
        re.findall(r":([0-9a-f]{48})@", secrets[name])[0]
        for name in ("database_owner_url", "database_url", "rate_limit_storage_url")
    )
    sql = (etc / "sql").read_text()
    assert sql.startswith(f"\\set owner_password {owner}\n\\set password {serving}\n")
    assert sql.endswith((DEPLOY / "postgres/roles.sql").read_text())
    assert (etc / "pgbouncer/userlist.txt").read_text() == f'"gateway" "{serving}"\n'
    assert f"user gateway on >{redis} ~" in (etc / "redis/users.acl").read_text()
    shown = (etc / "processes").read_text()
    assert "psql" in shown
    assert not [each for each in (owner, serving, redis) if each in shown]
