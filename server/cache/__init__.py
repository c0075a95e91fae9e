"""Explanations of the prefix cache: prompts of bodies, their parts, and answers about them."""
