"""Weight-only products on a GPU: quantized weights that stay in 4 or 8 bits in its memory.

`packing` has their places and sizes, `weights` the packed tensors, `linear` the layers. `plain`
multiplies in torch, `kernels`, `tiles` and `launch` in Triton.
"""
