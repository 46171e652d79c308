"""Pages generated when the documentation is built: command line, catalogue and stored examples."""
