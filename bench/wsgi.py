"""The gateway with one more command: ``flask --app bench.wsgi sandbox grow --transfers 10000000``.

The deployed application does not have it: code that is only for measurements is in this folder.
"""

from app import create_app
from app.cli.sandbox import sandbox
from bench.grow_command import grow_transfers

app = create_app()
sandbox.add_command(grow_transfers)
