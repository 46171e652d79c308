"""The parts of every check: the bench, probes and scenarios, machines, topologies and the registry."""
