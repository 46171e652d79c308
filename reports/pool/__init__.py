"""Small tables from the lines of all shards: functions from tables to a table, in Spark.

`cells` reads observations, `counts` all other lines. Only `cells.observations` and `cells.join_alike` grow with the
number of observations; `reports.tables` turns the other tables into those of a merge.
"""
