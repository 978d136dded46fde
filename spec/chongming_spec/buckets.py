"""Which bucket a business key falls into: the same in every process and on every machine (D29).

The number of buckets is a promise of the whole deployment, since another one moves nearly every key. Python's own hash
differs from process to process, so it is never used.
"""

from __future__ import annotations

from hashlib import blake2b


def bucket_for(key: str, num_buckets: int) -> int:
    """The bucket of `key`, from 0 to `num_buckets` - 1; `num_buckets` is at least 1."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % num_buckets
