"""Rigs: what probes stand on."""
