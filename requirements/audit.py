"""The lock held against the advisory database: `python requirements/audit.py` (make audit).

pip-audit says that all is well also when it could ask about nothing, so what was asked is counted. Where the database can't be
reached this says so and ends with 0: a build without network is no finding. An advisory ends it with 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("ci.txt")


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(
        [*command, "--require-hashes", "--disable-pip", "--requirement", str(LOCK)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"not audited: pip-audit could not do its work: {' '.join(done.stderr.split())[-300:]}")
        return 0
    asked = [each for each in found if "skip_reason" not in each]
    bad = [(each["name"], each["version"], flaw["id"]) for each in asked for flaw in each.get("vulns", ())]
    for name, version, advisory in bad:
        print(f"{name} {version}: {advisory}")
    if not asked:
        print(f"not audited: the advisory database knows none of {len(found)} packages, or was not reached")
    else:
        print(f"{len(asked)} of {len(found)} locked packages audited, {len(bad)} advisories")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
