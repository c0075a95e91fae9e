"""Names of a model folder's tokenizer files, for loading and for downloading them."""

TOKENIZER = "tokenizer.json"
TEKKEN = "tekken.json"  # of Mistral
OLDER_FORMS = (
    *("tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "*.tiktoken"),
    TEKKEN,
)
PROCESSOR_FILES = ("chat_template.json", "processor_config.json")  # may hold a chat template
