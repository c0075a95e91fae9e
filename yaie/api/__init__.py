"""The Python API: `LLM`, `AsyncLLM`, forks, ranked choices and prompts in one call."""
