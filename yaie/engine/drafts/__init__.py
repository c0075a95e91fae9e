"""Speculative decoding: drafts from known text, verified in the step that computes them."""
