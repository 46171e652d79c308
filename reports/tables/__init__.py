"""What people ask of matrices beside the verdicts: one module per question, each a function from tables to a table.

Every output has the schema of its struct in `reports.insights`, in that order of fields (`shape.shaped`); a table that
compares carries the names of its two sides before it. Inputs are the tables of `reports.tally`, the lines of shards that
count, or cells (`kafka_version`, `requirement`, `verdict`).
"""
