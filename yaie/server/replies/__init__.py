"""Replies: generation, delivery, and the reply formats of chats and completions."""
