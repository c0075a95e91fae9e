"""YAIE and other servers on this machine, measured with the same model and the same requests.

`workloads` says what is asked, `definitions` how each peer is started, `runner` measures them in
turns, `report` and `chart` show it. Called by `benchmarks.commands`.
"""
