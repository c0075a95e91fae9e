"""Parts of the Python API beside `yaie.LLM`: outputs, batches of prompts, clients."""
