"""Cache explanations: prompts of bodies, prompt fields, and engine queries."""
