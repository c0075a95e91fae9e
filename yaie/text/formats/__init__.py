"""Formats of answers: how model families write tool calls and reasoning into their text."""
