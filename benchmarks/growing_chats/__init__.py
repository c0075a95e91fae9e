"""Cached share of growing chats, turn by turn, by chat template; and of chats in a small pool."""
