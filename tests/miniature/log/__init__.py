"""Replicated logs: what replicas hold, what they answer, what can be broken, and the schedules that meet it."""
