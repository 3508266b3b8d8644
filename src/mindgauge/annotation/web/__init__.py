"""What pages that this machine serves have in common: who may call them, how, and for how long."""
