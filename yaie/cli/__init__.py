"""The `yaie` command line. Its start imports neither torch nor transformers; commands do."""
