"""Fused decoder layers for GPUs.

`operations` names the fused operations; `plain` computes them in torch, `kernels` and `launch` in
Triton.
"""
