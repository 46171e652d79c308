"""Rigs: the prepared clusters, partitions, groups and producers that probes start from."""
