"""The subcommands of `python -m reports`, one module each.

Only `merge` needs Spark: the others read its output, and run at once.
"""
