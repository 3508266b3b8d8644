"""Samples in other forms: perturbed, with a person described, under a jailbreak, with options in another order.

Each is a function from a sample to a sample that sets tags and keeps the cluster, so paired statistics need nothing
special. All draws come from `draws`, so a variant is the same, byte for byte, on every machine.
"""
