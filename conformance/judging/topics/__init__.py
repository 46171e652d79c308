"""The story of an administered resource, a topic or the owner of a configuration, and the judges of its administration."""
