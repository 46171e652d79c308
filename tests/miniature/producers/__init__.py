"""Producers on the miniature: their state on each replica, and the coordinator of their transactions."""
