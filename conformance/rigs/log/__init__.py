"""Rigs of partitions and their replicas."""
