"""C++ kernels for CPUs: their build, their search at startup, and mirrors of their structures.

Installation works without torch and without a compiler: see `yaie.kernels.library_search`.
"""
