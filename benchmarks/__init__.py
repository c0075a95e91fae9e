"""Benchmarks of the repository: YAIE compared with other engines, and its parts alone.

`python -m benchmarks peers` compares servers; `python -m benchmarks.attention`, `.linear` and
`.exact` measure parts of a step. Product measurements are commands of `yaie bench`.
"""
