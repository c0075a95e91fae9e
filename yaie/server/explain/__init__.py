"""Explanations of the prefix cache: prompts of bodies, prompt fields, and engine queries."""
