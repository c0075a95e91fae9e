"""Kernels in C++ for machines without a GPU, and how they are built and loaded.

Needs neither torch nor a compiler at install time: see `yaie.kernels.loader`.
"""
