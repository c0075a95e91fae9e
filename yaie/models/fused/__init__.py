"""Decoder layers for a GPU, with their small operations fused.

`operations` names the fused operations; `plain` computes them in torch, `kernels` and `launch` in
Triton.
"""
