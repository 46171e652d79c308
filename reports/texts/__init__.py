"""A matrix as text, for people and tools: everything but the site."""
