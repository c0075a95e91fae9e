"""Names of a model folder's tokenizer files, for loading and for downloading them."""

TOKENIZER = "tokenizer.json"
OLDER_FORMS = ("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken")
