"""The files of a model folder that hold its tokenizer, or what one can be made from.

For whoever loads it (`tokenizer`) and whoever fetches it (`yaie.models.folder`).
"""

TOKENIZER = "tokenizer.json"
OLDER_FORMS = ("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken")
