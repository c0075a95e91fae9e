"""Text: tokenizers, chat templates, incremental detokenizing, stop strings. Without torch."""
