"""Group coordinators in memory: members of both protocols, their offsets, and the log that holds them."""
