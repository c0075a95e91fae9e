"""The `yaie` command line. Starting it imports neither torch nor transformers; commands do."""
