"""Architectures: support checks, attention hook, layer shapes and text backbones."""
