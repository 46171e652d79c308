"""Kafka's protocol as data: requests and answers, error codes, the versions of fields, record batches. No network, no files.

A struct's fields carry the names of the schema's fields in snake case, with `error` for ErrorCode; a field that the spoken
version doesn't have keeps the struct's default.
"""
