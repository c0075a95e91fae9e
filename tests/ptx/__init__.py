"""An interpreter of the PTX that Triton emits for sm_80, in NumPy: compiled kernels run on a CPU.

`program` parses, `warp` executes with `arithmetic`, `conversions` and `matrix`, `memory` checks
each access, and `grid` runs blocks of warps. Simplifications: branches must be uniform in a warp,
warps run one after another between barriers, and tensor cores add in NumPy's order.
"""
