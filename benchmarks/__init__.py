"""What the library costs, beside others that do the same work: `python -m benchmarks`, or `make bench`."""
