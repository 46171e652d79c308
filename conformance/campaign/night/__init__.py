"""Nights: runs of all versions that are compared with what was published before, and published if they are whole."""
