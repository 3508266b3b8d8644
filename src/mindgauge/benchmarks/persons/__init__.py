"""The person of a dialogue of several turns: who they are, what they show at which turn, and how a model is told to play them.

`persona` reads who they are and dialogues of fixed words, `client` decides what the person may show next, asks a model to word
it and checks what it wrote, `dialogues` makes samples of all, also of transcripts.
"""
