"""C++ kernels for CPUs: their build, their search at startup, and the mirrors of their structures.

Installation needs neither torch nor a compiler: see `yaie.kernels.loader`.
"""
