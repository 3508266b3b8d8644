"""What is wrong with some data: checks of texts and ratings, each a function from the material to what it finds."""
