"""Stories and judges of producers: idempotent ones, and those with transactions (KIP-360, KIP-98, KIP-890)."""
