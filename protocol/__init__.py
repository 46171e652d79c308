"""Kafka's protocol as data: requests and answers, error codes, the versions of fields, record batches. No network, no
files.

A struct's fields have the schema's names in snake case, but `error` for ErrorCode; a field that the used version lacks
keeps the struct's default.
"""
