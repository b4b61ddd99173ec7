"""The crates of a program as a software bill of materials: CycloneDX 1.5 in JSON (https://cyclonedx.org/docs/1.5/json/)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from .dependencies import Crate, Dependencies, key_of


def of(dependencies: Dependencies, commit_time: int) -> str:
    """The document. It has no serial number, which would differ from build to build."""
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(commit_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(dependencies.program, "application"),
        },
        "components": [component(crate, "library") for crate in dependencies.crates],
        "dependencies": [{"ref": key, "dependsOn": list(used)} for key, used in dependencies.uses.items()],
    }
    return json.dumps(document, indent=2) + "\n"


def component(crate: Crate, kind: str) -> dict[str, Any]:
    """A crate. Those of this project are in no registry, and have no package URL."""
    described: dict[str, Any] = {"type": kind, "bom-ref": key_of(crate), "name": crate.name, "version": crate.version}
    if crate.licence:
        # An older form of an expression in Cargo.toml has a slash for OR.
        described["licenses"] = [{"expression": crate.licence.replace("/", " OR ")}]
    if not crate.is_own:
        described["purl"] = f"pkg:cargo/{crate.name}@{crate.version}"
    return described
