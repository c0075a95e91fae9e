"""Sampling: logit rules, truncation and the samplers of CPU and GPU."""
