"""``make sbom``: build/sbom.json, the bill of materials of what the gateway runs with, in CycloneDX.

It depends only on ``requirements.txt``, so it is the same everywhere, byte for byte.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from app.release import VERSION
from scripts.supply.licences import licence_of
from scripts.supply.locks import ROOT

FILE: Final[Path] = ROOT / "build" / "sbom.json"


def bill() -> bytes:
    """The bill of materials as JSON.

    :raises RuntimeError: it does not match the schema.
    """
    command = (sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", "requirements.txt")
    options = ("--pyproject", "pyproject.toml", "--output-reproducible", "--spec-version", "1.6")
    made = subprocess.run([*command, *options], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    document: dict[str, Any] = json.loads(made)
    document["metadata"]["component"]["version"] = VERSION
    for component in document["components"]:
        del component["description"]  # the line of the file, with all its hashes once more
        component["bom-ref"] = component["purl"]
        component["licenses"] = [{"expression": licence_of(component["name"])}]
    refs = [component["bom-ref"] for component in document["components"]]
    root = document["metadata"]["component"]["bom-ref"]
    document["dependencies"] = [{"ref": root, "dependsOn": refs}, *({"ref": ref} for ref in refs)]
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise RuntimeError(f"not a bill of materials: {fault}")
    return text.encode()


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(bill())
    print(FILE.relative_to(ROOT))  # noqa: T201


if __name__ == "__main__":
    main()
