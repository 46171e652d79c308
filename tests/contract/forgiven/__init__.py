"""The census of what judges forgive, by module of like evidence; `python -m tests.contract.forgiven` writes its page."""
