"""The story of a partition, and the judges of its log."""
