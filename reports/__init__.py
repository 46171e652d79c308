"""From shards to the conformance matrix: a Spark job, and its reports.

    ./kit merge --in DIR/shards --out DIR/matrix

runs on all cores of this machine (`local[*]`). `spark-submit` does the same on its own master, with the code as a zip:

    python -m zipfile -c kit.zip protocol history conformance reports
    spark-submit --py-files kit.zip reports/__main__.py --in DIR/shards --out DIR/matrix

(or with `PYTHONPATH` set to the checkout in place of the zip). The driver needs the Python packages msgspec, jinja2,
pyarrow and rich; executors run Python for `--archive` only.

The flow of data: `ingest` makes a table of distinct whole lines with an explicit schema and sums up each shard;
`conformance.judging.intake` decides on the driver which shards count and which columns get a mark; `pool` sums up
observations and all other lines in small tables, which come to the driver in one job; `tables` turns them into the
input of the judgement; `matrix` has each cell judged by `conformance.judging.pooling`; `insights` holds the other
tables, `over_versions` makes those that compare columns in their `order`; `site` and `texts` present all of them.
Everything after `ingest` is a function of the *set* of lines: neither the order of shards nor their splitting or
repetition changes a byte of the result.

`--out` gets `matrix.json` (the format that other tools may rely on), `insights.json` (since when, how often, how long),
`index.html` and the other pages (offline, no JavaScript needed), `matrix.md` (for a pull request; with `--baseline`
also what changed), `summary.md` (for a job), `junit.xml`, `badges/*.json` (for the endpoint of shields.io), and
`parquet/` with a table for each question.

    ./kit diff 3.9.2 4.3.1             # or two matrix.json files
    ./kit explain KIP320-FETCH-03 --kafka-version 4.3.1

read matrix.json and insights.json, without Spark.
"""
