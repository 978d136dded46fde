"""The answer to "may I?", which is a yes or a no with its reason."""

from __future__ import annotations

import attrs


@attrs.frozen
class Permission:
    """Truthy where it is allowed; else `reason` says what stands in the way (D43)."""

    allowed: bool
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.allowed
