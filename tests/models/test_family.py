"""Which names are of one family: makers with several lines, distilled models, fine-tunes, files and servers."""

from __future__ import annotations

import pytest

from mindgauge.models.family import families, same_family


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o-mini", {"openai"}),
        ("openai/o4-mini", {"openai"}),
        ("o1", {"openai"}),
        ("o4mini", {"openai"}),
        ("chatgpt-4o-latest", {"openai"}),
        ("gpt4omini", {"openai"}),
        ("openai/ft:gpt-4o-mini-2024-07-18:clinic::abc", {"openai"}),
        ("openai/a-model-of-next-year", {"openai"}),
        ("openrouter/anthropic/claude-3.5-sonnet", {"claude"}),
        ("Claude-3.5-Haiku", {"claude"}),
        ("google/gemini-2.5-pro", {"google"}),
        ("http://127.0.0.1:8000/v1#google/gemma-3-27b-it", {"google"}),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {"llama"}),
        ("groq/llama-4-scout-17b-16e-instruct", {"llama"}),
        ("MentaLLaMA-chat-7B", {"llama"}),
        ("qwen/qwq-32b", {"qwen"}),
        ("ollama/qwen2.5:7b", {"qwen"}),
        ("mixtral-8x7b", {"mistral"}),
        ("ministral-8b", {"mistral"}),
        ("codestral-latest", {"mistral"}),
        ("deepseek-r1-distill-llama-70b", {"deepseek", "llama"}),
        ("DeepSeek-R1-Distill-Qwen-7B", {"deepseek", "qwen"}),
        ("SoulChat2.0-internlm2-7b", {"internlm"}),
        ("chatglm3-6b", {"glm"}),
        ("xai/grok-4", {"grok"}),
        ("moonshot/kimi-k2", {"moonshot"}),
        ("moonshot/moonshot-v1-8k", {"moonshot"}),
        ("command-r-plus", {"cohere"}),
        ("local/smollm2-135m", {"smollm"}),
        ("local//models/Qwen2.5-7B.gguf", {"qwen"}),
        ("local//models/Qwen2.5-7B/ggml-model-q4.gguf", {"qwen"}),
        ("GPT-4o (chain)", {"openai"}),
        ("gpt-4o (whole dialogue)", {"openai"}),
        # What only looks like a family's name.
        ("ollama/phoenix", {"phoenix"}),
        ("local//opt/llama.cpp/phoenix.gguf", {"phoenix"}),
        ("phoenix-7b-GPTQ", {"phoenix"}),
        ("huatuogpt-2", {"huatuogpt"}),
        ("gpt-j-6b", {"gpt"}),
        ("dolphin-2.9", {"dolphin"}),
        ("groq/phoenix", {"phoenix"}),
        # What says nothing is of its own kind.
        ("http://127.0.0.1:1/v1#model", {"http://127.0.0.1:1/v1#model"}),
        ("m1", {"m1"}),
        ("文心一言", {"文心一言"}),
        ("", set()),
        (" ", set()),
    ],
)
def test_families(name: str, expected: set[str]) -> None:
    assert families(name) == expected


@pytest.mark.parametrize(
    ("judge", "model"),
    [
        ("openai/gpt-4o", "o4-mini"),
        ("deepseek/deepseek-chat", "DeepSeek-R1-Distill-Llama-70B"),
        ("meta-llama/Llama-4-Scout", "DeepSeek-R1-Distill-Llama-70B"),
        ("local/smollm2-135m", "smollm2-360m"),
        ("http://127.0.0.1:1/v1#m", "http://127.0.0.1:1/v1#m"),
        ("judge (chain)", "judge"),
    ],
)
def test_kin(judge: str, model: str) -> None:
    assert same_family(judge, model)
    assert same_family(model, judge)


@pytest.mark.parametrize(
    ("judge", "model"),
    [
        ("anthropic/claude-sonnet-4", "gpt-4o"),
        ("http://127.0.0.1:1/v1#judge-a", "http://127.0.0.1:1/v1#judge-b"),
        ("http://127.0.0.1:1/v1#model", "http://127.0.0.1:2/v1#model"),
        ("m1", "m2"),
        ("openai/gpt-4o", ""),
        ("", ""),
        ("rule/refusal", "rule/refusal"),
        ("classifier/gpt", "gpt-4o"),
    ],
)
def test_strangers(judge: str, model: str) -> None:
    assert not same_family(judge, model)
