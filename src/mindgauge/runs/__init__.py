"""A run: what it will do (a plan is a list of steps), what it costs, and how the steps are done and kept.

`plan` makes the steps, each of which (`steps`, `rating_steps`, `conversation_steps`) says what it will ask, for what cost;
`forecast` adds that up, `session` does it. `reply_tables` knows the columns of replies that users bring.
"""
