"""The rules of `finish` without `no_carrier`.

Where no carrier is, one is told, killed or noted as gone.
"""

from __future__ import annotations

from models.mutants import without_when

SPEC = without_when("finish", "no_carrier")
KILLED_BY = "only_a_carrier_is_told_or_noted_after_the_end"
