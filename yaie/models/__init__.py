"""Models: transformers as the zoo; what is supported, how it is loaded and hooked up."""
