"""Client libraries that hold the `openai` package back, in an environment of their own."""
