"""``make proto``: the Python messages of proto/, which are checked in next to the code that uses them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

HOMES: Final = {"refund.proto": Path("app/transfers/rules/refunds"), "gateway.proto": Path("app/grpcweb")}
"""Each file of proto/ and the folder of its messages."""


def generate(root: Path) -> None:
    """Write every file's messages and their types under ``root``, into existing folders.

    :raises subprocess.CalledProcessError: the compiler refuses a file, and has printed why.
    """
    for name, home in HOMES.items():
        out = root / home
        outputs = (f"--python_out={out}", f"--pyi_out={out}")
        compiler = (sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}")
        subprocess.run([*compiler, *outputs, name], check=True)


if __name__ == "__main__":
    generate(ROOT)
