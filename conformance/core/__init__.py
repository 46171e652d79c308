"""What every check is made of: the bench, probes and scenarios, machines, topologies and the registry."""
