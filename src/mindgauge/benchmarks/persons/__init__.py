"""The person of a dialogue of several turns: who they are, what they show at which turn, and how a model is told to play them.

`persona` reads who they are, `script` dialogues of fixed words, `state` decides what the person may show next, `client`
asks a model to word it and checks what it wrote, `outcomes` says how a dialogue can end, `dialogues` makes samples of all.
"""
