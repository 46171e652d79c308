"""Rigs: the prepared clusters, partitions, groups and producers that probes work on."""
