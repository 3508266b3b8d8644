"""How much more a model's advice spares the asker than people's does."""
