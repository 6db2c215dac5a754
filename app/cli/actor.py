"""Who runs the commands, for the audit log."""

from __future__ import annotations

import os
import pwd

from app.domain.audit import Actor, Source


def cli_actor() -> Actor:
    """The system's user of this process, as the audit log names it: ``cli:NAME``, or the user's number."""
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # a container may run as a user without a name
        name = str(number)
    return Actor(f"cli:{name}", Source.CLI)
