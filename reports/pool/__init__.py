"""Small tables from the lines of all shards: functions from tables to a table, in Spark.

Those for reports beside the verdicts have the schema of their struct in `reports.insights`, in that order of fields
(`shape.shaped`); a table that compares carries the names of its two sides before it. Inputs are the tables of `cells`, the
lines of shards that count, or cells (`kafka_version`, `requirement`, `verdict`).
"""
