"""Rigs of the metadata quorum."""
