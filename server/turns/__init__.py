"""Turns of `/v1/responses`: bodies, the items before them, and their translation into chats."""
