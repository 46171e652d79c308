"""The judges of the metadata quorum (KIP-595): over every history of three or more controllers, or of a scripted quorum."""
