"""Whether the second opinion is asked (D39).

Refusals a user can meet are ordinary code and always there. The icontract conditions beside them are for checking: on
under `python -X dev` and with CHONGMING_CONTRACTS=1, off otherwise.
"""

from __future__ import annotations

import os
import sys

ENABLED: bool = sys.flags.dev_mode or os.environ.get("CHONGMING_CONTRACTS") == "1"
