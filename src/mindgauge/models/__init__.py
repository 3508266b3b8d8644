"""Models that answer: any OpenAI-compatible endpoint, the embedded llama.cpp, a file of replies, a function."""
