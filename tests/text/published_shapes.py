"""Chat templates in the shapes of published ones: which orders of roles each one takes."""

from __future__ import annotations

CHATML = (
    "{% for m in messages %}{% if loop.first and m['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# One system message, the first; results are parts of user turns; there must be a question.
QWEN35 = """
{%- macro text_of(content) -%}
{%- if content is string -%}{{ content }}{%- else -%}
{%- for part in content -%}{{ part.text }}{%- endfor -%}{%- endif -%}
{%- endmacro -%}
{%- if tools -%}
{{- '<|im_start|>system\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}
{%- if messages[0].role == 'system' %}{{ '\n' + text_of(messages[0].content) }}{% endif %}
{{- '<|im_end|>\n' }}
{%- elif messages[0].role == 'system' -%}
{{- '<|im_start|>system\n' + text_of(messages[0].content) + '<|im_end|>\n' -}}
{%- endif -%}
{%- set found = namespace(question=false) -%}
{%- for m in messages[::-1] -%}
{%- if m.role == 'user' and not text_of(m.content).startswith('<tool_response>') -%}
{%- set found.question = true -%}{%- endif -%}
{%- endfor -%}
{%- if not found.question %}{{ raise_exception('No user query found in messages.') }}{% endif -%}
{%- for m in messages -%}
{%- set content = text_of(m.content) | trim -%}
{%- if m.role == 'system' -%}
{%- if not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}
{%- elif m.role == 'user' -%}
{{- '<|im_start|>user\n' + content + '<|im_end|>\n' -}}
{%- elif m.role == 'assistant' -%}
{%- set reasoning = '' -%}
{%- if m.reasoning_content is string -%}{%- set reasoning = m.reasoning_content | trim -%}
{%- elif '</think>' in content -%}
{%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') -%}
{%- set content = content.split('</think>')[-1].lstrip('\n') -%}
{%- endif -%}
{{- '<|im_start|>assistant\n<think>\n' + reasoning + '\n</think>\n\n' + content -}}
{%- for c in m.tool_calls or [] -%}
{{- '<tool_call>\n<function=' + c.function.name + '>\n' -}}
{%- for name, value in c.function.arguments | items -%}
{{- '<parameter=' + name + '>\n' -}}
{{- value if value is string else value | tojson -}}
{{- '\n</parameter>\n' -}}
{%- endfor -%}
{{- '</function>\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\n' -}}
{%- elif m.role == 'tool' -%}
{%- if loop.previtem.role != 'tool' %}{{ '<|im_start|>user' }}{% endif -%}
{{- '\n<tool_response>\n' + content + '\n</tool_response>' -}}
{%- if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\n' }}{% endif -%}
{%- else %}{{ raise_exception('Unexpected message role.') }}{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif -%}
"""
# No system role, and turns alternate.
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + m['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
# A first system message is part of the last question; turns alternate, apart from calls.
MISTRAL = """
{%- if messages[0].role == 'system' -%}
{%- set system = messages[0].content -%}{%- set rest = messages[1:] -%}
{%- else -%}{%- set rest = messages -%}{%- endif -%}
{%- set at = namespace(index=0) -%}
{%- for m in rest -%}
{%- if not (m.role == 'tool' or m.tool_calls is defined) -%}
{%- if (m.role == 'user') != (at.index % 2 == 0) -%}
{{- raise_exception('After the optional system message, roles must alternate') -}}
{%- endif -%}{%- set at.index = at.index + 1 -%}{%- endif -%}
{%- endfor -%}
{{- bos_token -}}
{%- if system is defined %}{{ '[SYSTEM_PROMPT]' + system + '[/SYSTEM_PROMPT]' }}{% endif -%}
{%- if tools %}{{ '[AVAILABLE_TOOLS]' + tools | tojson + '[/AVAILABLE_TOOLS]' }}{% endif -%}
{%- for m in rest -%}
{%- if m.role == 'user' -%}
{{- '[INST]' + m.content + '[/INST]' -}}
{%- elif m.tool_calls is defined -%}
{{- '[TOOL_CALLS][' -}}
{%- for c in m.tool_calls -%}
{%- if c.id | length != 9 %}{{ raise_exception('Tool call IDs should be 9 long') }}{% endif -%}
{{- '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson -}}
{{- ', "id": "' + c.id + '"}' + (', ' if not loop.last else '') -}}
{%- endfor -%}{{- ']' + eos_token -}}
{%- elif m.role == 'assistant' -%}{{- ' ' + m.content | trim + eos_token -}}
{%- elif m.role == 'tool' -%}{{- '[TOOL_RESULTS]' + m.content + '[/TOOL_RESULTS]' -}}
{%- else %}{{ raise_exception('Only user, assistant and tool roles') }}{% endif -%}
{%- endfor -%}
"""
# All orders, and one call a turn.
LLAMA3 = """
{{- bos_token -}}
{%- if messages[0].role == 'system' -%}
{%- set system = messages[0].content | trim -%}{%- set messages = messages[1:] -%}
{%- else -%}{%- set system = '' -%}{%- endif -%}
{{- '<|start_header_id|>system<|end_header_id|>\n\n' + system -}}
{%- if tools %}{% for t in tools %}{{ '\n' + t | tojson(indent=4) }}{% endfor %}{% endif -%}
{{- '<|eot_id|>' -}}
{%- for m in messages -%}
{%- if not (m.role == 'tool' or 'tool_calls' in m) -%}
{{- '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' -}}
{%- elif 'tool_calls' in m -%}
{%- if not m.tool_calls | length == 1 -%}
{{- raise_exception('This model only supports single tool-calls at once!') -}}
{%- endif -%}
{%- set call = m.tool_calls[0].function -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "' + call.name -}}
{{- '", "parameters": ' + call.arguments | tojson + '}<|eot_id|>' -}}
{%- else -%}
{{- '<|start_header_id|>ipython<|end_header_id|>\n\n' + m.content | tojson + '<|eot_id|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}
{%- endif -%}
"""
# The first system message alone is shown, without an error for others.
FIRST_SYSTEM = (
    "{% if messages[0].role == 'system' %}[S]{{ messages[0].content }}{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}[U]{{ m.content }}"
    "{% elif m.role == 'assistant' %}[A]{{ m.content }}{% endif %}{% endfor %}"
)
# All system messages come first.
SYSTEMS_FIRST = (
    "{% for m in messages if m.role == 'system' %}[S]{{ m.content }}{% endfor %}"
    "{% for m in messages if m.role != 'system' %}[{{ m.role[0] | upper }}]{{ m.content }}"
    "{% endfor %}"
)
SHAPES = {
    "chatml": CHATML,
    "qwen3.5": QWEN35,
    "gemma": GEMMA,
    "mistral": MISTRAL,
    "llama3": LLAMA3,
    "first_system": FIRST_SYSTEM,
    "systems_first": SYSTEMS_FIRST,
}
