"""Conversations of `/v1/messages`: content blocks, and their translation into chats."""
