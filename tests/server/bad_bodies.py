"""Bodies with one wrong field each, and the check of their error responses."""

from __future__ import annotations

from typing import Any

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
MESSAGES = [{"role": "user", "content": "x"}]
BIG = 2**70
IDS = [str(token_id) for token_id in range(5000)]
A_TOOL = {"type": "function", "function": {"name": "f"}}

# (fields added to a good body, the parameter named by the error)
COMMON: list[tuple[dict[str, Any], str | None]] = [
    ({"model": 5}, "model"),
    ({"stream": "yes"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": 3}, "stream_options"),
    ({"stream": True, "stream_options": {"include_usage": "x"}}, "stream_options.include_usage"),
    ({"n": 0}, "n"),
    ({"n": -1}, "n"),
    ({"n": 129}, "n"),
    ({"n": BIG}, "n"),
    ({"n": 1.5}, "n"),
    ({"n": "2"}, "n"),
    ({"n": True}, "n"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": "all"}, "max_tokens"),
    ({"max_tokens": 2.5}, "max_tokens"),
    ({"max_tokens": BIG}, "max_tokens"),
    ({"max_tokens": 5000}, "max_tokens"),
    ({"temperature": -0.1}, "temperature"),
    ({"temperature": 101}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"temperature": [1]}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"top_p": -0.1}, "top_p"),
    ({"max_tokens": 10**4299}, "max_tokens"),
    ({"max_tokens": 10**4300 - 1}, "max_tokens"),
    ({"top_p": 1.01}, "top_p"),
    ({"top_p": "1"}, "top_p"),
    ({"top_k": -2}, "top_k"),
    ({"top_k": 1.5}, "top_k"),
    ({"min_p": -0.1}, "min_p"),
    ({"min_p": 2}, "min_p"),
    ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"repetition_penalty": 1e-30}, "repetition_penalty"),
    ({"repetition_penalty": -1}, "repetition_penalty"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"frequency_penalty": -2.1}, "frequency_penalty"),
    ({"seed": 1.5}, "seed"),
    ({"seed": BIG}, "seed"),
    ({"stop": 5}, "stop"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", ""]}, "stop"),
    ({"stop": ["a", 5]}, "stop"),
    ({"stop": {"a": 1}}, "stop"),
    ({"stop": ["a"] * 17}, "stop"),
    ({"stop": "a" * 1025}, "stop"),
    ({"stop_token_ids": 5}, "stop_token_ids"),
    ({"stop_token_ids": ["5"]}, "stop_token_ids[0]"),
    ({"stop_token_ids": [5, 420]}, "stop_token_ids[1]"),
    ({"stop_token_ids": [-1]}, "stop_token_ids[0]"),
    ({"stop_token_ids": [1] * 1025}, "stop_token_ids"),
    ({"allowed_token_ids": 5}, "allowed_token_ids"),
    ({"allowed_token_ids": []}, "allowed_token_ids"),
    ({"allowed_token_ids": ["5"] * 5000}, "allowed_token_ids[0]"),
    ({"allowed_token_ids": [5, 420]}, "allowed_token_ids[1]"),
    ({"allowed_token_ids": [-1]}, "allowed_token_ids[0]"),
    ({"logit_bias": [1]}, "logit_bias"),
    ({"logit_bias": {"a": 1}}, "logit_bias"),
    ({"logit_bias": {"٣": 1}}, "logit_bias"),
    ({"logit_bias": {"420": 1}}, "logit_bias"),
    ({"logit_bias": {"-1": 1}}, "logit_bias"),
    ({"logit_bias": {"5": 101}}, "logit_bias"),
    ({"logit_bias": {"5": "1"}}, "logit_bias.5"),
    ({"logit_bias": {str(i): 1 for i in range(1025)}}, "logit_bias"),
    ({"min_tokens": -1}, "min_tokens"),
    ({"min_tokens": 9, "max_tokens": 5}, "min_tokens"),
    ({"min_tokens": BIG}, "min_tokens"),
    ({"ignore_eos": "no"}, "ignore_eos"),
    ({"return_token_ids": 1}, "return_token_ids"),
    ({"cache_salt": ""}, "cache_salt"),
    ({"cache_salt": 5}, "cache_salt"),
    ({"cache_salt": "s" * 257}, "cache_salt"),
    ({"priority": 1.5}, "priority"),
    ({"queue_timeout_s": 0}, "queue_timeout_s"),
    ({"queue_timeout_s": -1.5}, "queue_timeout_s"),
    ({"queue_timeout_s": "9"}, "queue_timeout_s"),
    ({"priority": BIG}, "priority"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": "structural_tag"}}, "response_format"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        "response_format.json_schema.schema",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": 5, "schema": {}}}},
        "response_format.json_schema.name",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"strict": 1, "schema": {}}}},
        "response_format.json_schema.strict",
    ),
    ({"guided_json": 5}, "guided_json"),
    ({"guided_json": "{"}, "guided_json"),
    ({"guided_json": {"a": "x" * 70_000}}, "guided_json"),
    ({"guided_regex": ["x"]}, "guided_regex"),
    ({"guided_regex": "(" * 80 + ")" * 80}, "guided_regex"),
    ({"guided_choice": "x"}, "guided_choice"),
    ({"guided_choice": ["x", ""]}, "guided_choice[1]"),
    ({"guided_choice": ["x", 5]}, "guided_choice[1]"),
    ({"guided_grammar": {"a": 1}}, "guided_grammar"),
    ({"ebnf": "root"}, "ebnf"),
    ({"grammar": 'root ::= "a'}, "grammar"),
    ({"grammar": "root ::= x"}, "grammar"),
    ({"json_schema": ["x"]}, "json_schema"),
    ({"regex": 5}, "regex"),
    ({"structured_outputs": "x"}, "structured_outputs"),
    ({"structured_outputs": {"json": 5}}, "structured_outputs.json"),
    ({"structured_outputs": {"structural_tag": "x"}}, "structured_outputs.structural_tag"),
    ({"structured_outputs": {"json": {}, "regex": "x"}}, "structured_outputs"),
    ({"guided_regex": "x", "guided_choice": ["x"]}, "guided_choice"),
    ({"response_format": {"type": "json_object"}, "regex": "x"}, "regex"),
    ({"use_beam_search": True}, "use_beam_search"),
    ({"bad_words": ["x"]}, "bad_words"),
    ({"prompt_logprobs": -1}, "prompt_logprobs"),
    ({"prompt_logprobs": 21}, "prompt_logprobs"),
    ({"prompt_logprobs": True}, "prompt_logprobs"),
    ({"prompt_logprobs": 0, "stream": True}, "prompt_logprobs"),
    ({"truncate_prompt_tokens": 0}, "truncate_prompt_tokens"),
    ({"truncate_prompt_tokens": 256}, "truncate_prompt_tokens"),
    ({"truncate_prompt_tokens": -2}, "truncate_prompt_tokens"),
    ({"truncate_prompt_tokens": "x"}, "truncate_prompt_tokens"),
    ({"stop_sequences": ["x"]}, "stop_sequences"),
    ({"repeat_penalty": 1.1}, "repeat_penalty"),
    ({"max_new_tokens": 5}, "max_new_tokens"),
    ({"mirostat_mode": 2}, "mirostat_mode"),
    ({"response_format": {}}, "response_format"),
    ({"min_tokens": 256}, "min_tokens"),
    ({"stop_token_ids": ["a"] * 1025}, "stop_token_ids"),
    ({"logit_bias": {str(i): "a" for i in range(1025)}}, "logit_bias"),
    ({"n": 2.0**60}, "n"),
]
CHAT_ONLY: list[tuple[dict[str, Any], str | None]] = [
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "hi"}, "messages"),
    ({"messages": {"role": "user"}}, "messages"),
    ({"messages": ["hi"]}, "messages[0]"),
    ({"messages": [None]}, "messages[0]"),
    ({"messages": [{"content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": {"a": 1}}]}, "messages[0].content"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "messages[0].content[0].type",
    ),
    ({"messages": [{"role": "function", "content": "x"}]}, "messages"),
    ({"messages": [{"role": "user", "content": "the " * 600}]}, "messages"),
    (
        {"messages": [{"role": "user", "content": [{"text": "x"}]}]},
        "messages[0].content[0].type",
    ),
    ({"reasoning_effort": "enormous"}, "reasoning_effort"),
    ({"continue_final_message": True, "add_generation_prompt": True}, "continue_final_message"),
    (
        {"continue_final_message": True, "messages": [{"role": "assistant"}]},
        "continue_final_message",
    ),
    ({"continue_final_message": "x"}, "continue_final_message"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"max_completion_tokens": 5000}, "max_completion_tokens"),
    ({"logprobs": 2}, "logprobs"),
    ({"top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
    ({"tools": "x"}, "tools"),
    ({"tools": [5]}, "tools[0]"),
    ({"tools": [{"type": "function"}]}, "tools[0]"),
    ({"tools": [{"type": "code", "function": {"name": "f"}}]}, "tools[0].type"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
    ({"tools": [A_TOOL, A_TOOL]}, "tools[1].function.name"),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": [1]}}]},
        "tools[0].function.parameters",
    ),
    (
        {
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}
            ]
        },
        "tools[0].function.parameters.type",
    ),
    ({"parallel_tool_calls": "no", "tools": [A_TOOL]}, "parallel_tool_calls"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": "required", "tools": []}, "tool_choice"),
    ({"tool_choice": "always", "tools": [A_TOOL]}, "tool_choice"),
    ({"tool_choice": {"type": "custom"}, "tools": [A_TOOL]}, "tool_choice"),
    ({"tool_choice": {"type": "function"}, "tools": [A_TOOL]}, "tool_choice"),
    (
        {"tool_choice": {"type": "function", "function": {"name": "g"}}, "tools": [A_TOOL]},
        "tool_choice",
    ),
    (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}, "tools": [A_TOOL]},
        "tool_choice.allowed_tools",
    ),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"function_call": {"name": "f"}}, "function_call"),
    ({"modalities": ["audio"]}, "modalities"),
    ({"chat_template": "{{ 1 }}"}, "chat_template"),
    ({"chat_template_kwargs": {"chat_template": "x"}}, "chat_template_kwargs.chat_template"),
    ({"chat_template_kwargs": {"tokenize": True}}, "chat_template_kwargs.tokenize"),
    ({"chat_template_kwargs": {"shout": 5}}, None),  # valid: the template accepts any value
    ({"chat_template_kwargs": "x"}, "chat_template_kwargs"),
    ({"best_of": 2}, "best_of"),
]
TEXT_ONLY: list[tuple[dict[str, Any], str | None]] = [
    ({"prompt": None}, "prompt"),
    ({"prompt": ""}, "prompt"),
    ({"prompt": []}, "prompt"),
    ({"prompt": 5}, "prompt"),
    ({"prompt": {"a": 1}}, "prompt"),
    ({"prompt": ["a", ""]}, "prompt[1]"),
    ({"prompt": [[]]}, "prompt[0]"),
    ({"prompt": ["a", 5]}, "prompt[1]"),
    ({"prompt": [1, "a"]}, "prompt[1]"),
    ({"prompt": [1, 2.5]}, "prompt[1]"),
    ({"prompt": [1, True]}, "prompt[1]"),
    ({"prompt": [True]}, "prompt[0]"),
    ({"prompt": [1, None]}, "prompt[1]"),
    ({"prompt": [5, 420]}, "prompt[1]"),
    ({"prompt": [[5], [5, -1]]}, "prompt[1][1]"),
    ({"prompt": [BIG]}, "prompt[0]"),
    ({"prompt": [5] * 256}, "prompt"),
    ({"prompt": ["the", "the " * 600]}, "prompt[1]"),
    ({"prompt": ["a"] * 129}, "prompt"),
    ({"prompt": ["a"] * 3, "n": 50}, "prompt"),
    ({"prompt": [5] * 250, "max_tokens": 7}, "max_tokens"),
    ({"suffix": "x"}, "suffix"),
    ({"best_of": 2}, "best_of"),
    ({"best_of": BIG}, "best_of"),
    ({"logprobs": 21}, "logprobs"),
    ({"logprobs": -1}, "logprobs"),
    ({"logprobs": True}, "logprobs"),
    ({"echo": "x"}, "echo"),
    ({"logprobs": 21, "echo": True}, "logprobs"),
]
CASES = (
    [(CHAT, *case) for case in COMMON + CHAT_ONLY] + [(TEXT, *case) for case in COMMON + TEXT_ONLY]
)  # fmt: skip


def good(path: str) -> dict[str, Any]:
    return {"messages": MESSAGES} if path == CHAT else {"prompt": "x"}


def check_error(response: Any) -> dict[str, Any]:
    """Return the error of a response after a check of its form."""
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["X-Request-ID"]
    assert len(response.content) < 8192
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["message"], str) and error["message"]
    for leak in ("Traceback", ".py", "0x", "site-packages"):
        assert leak not in response.text
    return dict(error)
