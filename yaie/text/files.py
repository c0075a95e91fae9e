"""Names of a model folder's tokenizer files, for loading and for downloading them."""

TOKENIZER = "tokenizer.json"
OLDER_FORMS = ("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken")
PROCESSOR_FILES = ("chat_template.json", "processor_config.json")  # may hold a chat template
