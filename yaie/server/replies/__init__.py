"""Replies: generation, its outcome, delivery, and the formats of chats and completions."""
