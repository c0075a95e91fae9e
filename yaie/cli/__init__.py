"""The `yaie` command line."""
