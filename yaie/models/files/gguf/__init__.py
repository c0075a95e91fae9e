"""GGUF files: header, weights, and the config and tokenizer that they hold.

    header, tensor_kinds          metadata and the places of tensors; kinds and their decoding
    families, *_families, family  what each architecture is in transformers: names and fields
    gguf_settings, rope_tables    metadata with checks; rope tables
    hf_config, hf_names           transformers' config and names of the tensors
    tensor_forms, hf_weights      how stored tensors lie in the model's; decoded tensors
    hf_tokenizer, pretokenizers   the tokenizer; how it cuts texts
    hf_folder                     the model folder made from a file

A reader of our own, as a damaged file must be refused before it takes memory, and long lists of
tokens must be read quickly.
"""
