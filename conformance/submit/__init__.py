"""Scripts for `spark-submit`."""
