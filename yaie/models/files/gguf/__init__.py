"""GGUF files: header, weights, and the config and tokenizer that they hold.

    reader     the header: metadata and the places of tensors; kinds, their sizes
    blocks     kinds of tensors, and their decoding
    naming     names of tensors in transformers
    config     transformers' config
    vocabulary the tokenizer; pretokenizers, how it cuts texts
    folder     the model folder made from a file
    weights    decoded tensors, for the loader

A reader of our own, as a damaged file must be refused before it takes memory, and long lists of
tokens must be read quickly.
"""
