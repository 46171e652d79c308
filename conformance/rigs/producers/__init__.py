"""Rigs of idempotent and transactional producers."""
