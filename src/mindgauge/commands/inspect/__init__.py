"""Mindgauge within Inspect: every benchmark with open questions as a task, rated by our rubric, fence, parser and statuses.

`inspect eval mindgauge/psycrisis -T language=zh --model openai/NAME --model-role grader=anthropic/NAME`. Inspect finds the
tasks by the entry point `inspect_ai`. Nothing outside of this room imports inspect-ai.
"""
