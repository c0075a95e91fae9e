"""YAIE and other servers on this machine, measured with the same model and the same requests.

`workloads` holds the requests, `definitions` the peers; `runner` measures in turns, `report` and
`chart` present the results. Called by `benchmarks.commands`.
"""
