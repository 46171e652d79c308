"""A KRaft cluster's replicated logs in memory, under a logical clock, with bugs that can be switched on.

It keeps every promise to which judges hold brokers, and permits itself what Kafka permits.
"""
