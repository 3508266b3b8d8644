"""`watch`: what a look at new dialogues says of a policy's bounds, beside all looks before it."""
