"""Models and linear layers packed for the kernel library, compared with transformers' at load."""
