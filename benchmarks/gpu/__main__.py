"""`python -m benchmarks.gpu`: the stages of `first_run.sh`, and the report of their results."""

import sys

from benchmarks.gpu.first_run import main

if __name__ == "__main__":
    sys.exit(main())
