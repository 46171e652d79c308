"""From shards to the conformance matrix: a Spark job, and what people read of it.

    python -m reports --in DIR/shards --out DIR/matrix

runs on all cores of this machine (`local[*]`). The same through `spark-submit`, on whatever master it is given, with
the code as a zip:

    python -m zipfile -c kit.zip history conformance reports
    spark-submit --py-files kit.zip reports/__main__.py --in DIR/shards --out DIR/matrix

(or with `PYTHONPATH` set to the checkout in place of the zip). The driver needs the Python packages msgspec, jinja2 and
rich; executors run no Python.

The way of the data: `read` makes a table of distinct lines with an explicit schema; `validate` tells whole lines from
others and sums up each shard; `intake` decides on the driver which shards count and which columns are marked; `tally`
pools observations, checks, faults and violations; `matrix` lets `conformance.judges.verdicts` judge each cell;
`markdown`, `terminal` and `page` show it. Everything after `read` is a function of the *set* of lines, so neither the
order of shards nor their splitting or repetition can change a byte of the result.

What `--out` holds: `matrix.json` (the contract), `matrix.md` (for a pull request), `index.html` (one page, offline, no
JavaScript needed), and `parquet/` with the tables `matrix`, `tallies` and `observations`.
"""
