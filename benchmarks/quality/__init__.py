"""Quality of quantized weights and of an int8 KV pool on a real model, beside llama.cpp's files."""
