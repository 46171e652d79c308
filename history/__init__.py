"""The records of a run: events, observations and shards, as plain data.

The bottom of the kit: it imports nothing of ours and talks to nothing.
"""

__version__ = "0.1.0"
