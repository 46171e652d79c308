"""A matrix as text, for people and machines: all but the site."""
