"""A KRaft cluster's replicated logs in memory, under a logical clock, with bugs that can be switched on.

What it promises is what judges are told to hold brokers to; what it permits is what Kafka permits.
"""
