"""`python -m yaie` is `yaie`."""

from yaie.cli.main import main

if __name__ == "__main__":
    main()
