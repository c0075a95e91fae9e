"""Weight-only products on a GPU, whose memory keeps weights in 4 or 8 bits.

`packed_layout` has their positions and sizes, `device_weights` the packed tensors, `linear` the
layers. `products` multiplies in torch, `kernels`, `product_tiles` and `launch` in Triton.
"""
