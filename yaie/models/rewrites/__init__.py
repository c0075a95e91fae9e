"""Faster forms of transformers' modules, each compared with the original before it is used."""
