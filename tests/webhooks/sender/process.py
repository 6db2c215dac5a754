"""``flask deliver`` in a process of its own. Its claims end soon, for tests that kill it."""

from __future__ import annotations

import sys
from datetime import timedelta

from app import create_app
from app.webhooks.services import delivering

CLAIM_SECONDS = 2

if __name__ == "__main__":
    delivering.CLAIM = timedelta(seconds=CLAIM_SECONDS)  # type: ignore[misc]
    sys.exit(create_app().test_cli_runner().invoke(args=["deliver"]).exit_code)
