"""Small tables from the lines of all shards: functions from tables to a table, in Spark.

`cells` is about observations, `counts` about all other lines. None of their tables grows with the number of observations, but for
`cells.observations` and `cells.join_alike`; `reports.tables` makes of the others what a merge tells.
"""
