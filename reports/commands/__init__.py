"""The subcommands of `python -m reports`, one module each with `run(arguments) -> exit code`.

Only `merge` needs Spark: the others read its output, and run at once.
"""
