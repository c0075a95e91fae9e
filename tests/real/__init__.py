"""Tests on real weights: `make test-real` downloads them."""
