"""The evidence folder of a violation."""
