"""The software bill of materials of the image (CycloneDX 1.5), from the locks: python docker/bom.py cuda|cpu > bom.json

Standard library only, because the build runs it beside the packages, not among them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

HERE = Path(__file__).parent
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+) \\\n\s+--hash=sha256:(?P<sha256>[0-9a-f]{64})$", re.M)


def components(variant: str) -> list[dict]:
    """Every pinned package of a variant, in order of names."""
    locks = ("requirements.lock", "source.lock", f"torch-{variant}.lock")
    pins = [pin for lock in locks for pin in PIN.finditer((HERE / lock).read_text(encoding="utf-8"))]
    return [component(**pin.groupdict()) for pin in sorted(pins, key=lambda pin: pin["name"])]


def component(name: str, version: str, sha256: str) -> dict:
    purl = f"pkg:pypi/{name}@{version.replace('+', '%2B')}"
    hashes = [{"alg": "SHA-256", "content": sha256}]
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": hashes}


def bill(variant: str) -> dict:
    """The same locks always give the same bill, its serial number included."""
    parts = components(variant)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(parts))}",
        "version": 1,
        "metadata": {
            "component": {"type": "container", "bom-ref": f"atd:{variant}", "name": "atd", "version": variant}
        },
        "components": parts,
        "dependencies": [{"ref": f"atd:{variant}", "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    if sys.argv[1:] not in (["cuda"], ["cpu"]):
        sys.exit("python docker/bom.py cuda|cpu")
    print(json.dumps(bill(sys.argv[1]), indent=1))
