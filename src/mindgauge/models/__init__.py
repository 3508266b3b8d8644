"""Models that answer: any OpenAI-compatible endpoint, the embedded llama.cpp, a file of replies, a function.

`spec` opens what a user names; `chat_endpoint` asks a server, by `transport`, and `completion` reads its answer; `providers` is a
table of addresses.
"""
