"""When can a judge be trusted? Ratings → pairs → estimates → a card with a verdict, under limits fixed beforehand."""
