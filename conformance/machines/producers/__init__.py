"""The producer machine: idempotent and transactional producers on three brokers."""
