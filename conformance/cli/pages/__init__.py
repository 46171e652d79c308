"""The pages that are made when the documentation is built: of the command line, the catalogue and the stored examples."""
