"""Shards in: distinct lines of known types, and which shards count."""
