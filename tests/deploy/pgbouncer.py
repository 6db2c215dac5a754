"""The files of deploy/ for PgBouncer, with other addresses: everything else is as it is shipped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.deploy.files import DEPLOY, changed

PLACE: Final = "pgbouncer/place.ini"


def write_pgbouncer(
    folder: Path, databases: Mapping[str, str], settings: Mapping[str, str], place: str = PLACE
) -> Path:
    """Write both files into a folder; the one to start PgBouncer with.

    :param databases: what is in place of the shipped databases, by name: ``host=… dbname=…``.
    :param settings: values in place of shipped ones. The file of users is ``users`` in the folder.
    :param place: the shipped file that names where it listens.
    :raises SystemExit: one of the settings is not shipped, or more than once.
    """
    main = (DEPLOY / "pgbouncer/pgbouncer.ini").read_text()
    where = (DEPLOY / place).read_text()
    main = changed(main, r"/etc/pgbouncer/userlist\.txt", f"{folder}/users", 1)
    main = changed(main, r"/etc/pgbouncer/place\.ini", f"{folder}/place.ini", 1)
    for name, value in settings.items():
        pattern = rf"(?m)^{name} = .*$"
        if re.search(pattern, main):
            main = changed(main, pattern, f"{name} = {value}", 1)
        else:
            where = changed(where, pattern, f"{name} = {value}", 1)
    lines = "\n".join(f"{name} = {words}" for name, words in databases.items())
    where = changed(where, r"(?m)^gateway = .*$", lines, 1)
    (folder / "place.ini").write_text(where)
    (folder / "pgbouncer.ini").write_text(main)
    return folder / "pgbouncer.ini"
