"""The rules of `cancel` without `no_carrier`.

Where no carrier is, one is told, killed or noted as gone.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("cancel", "no_carrier")
KILLED_BY = "deterministic"
