"""`logs watch`: new dialogues since the last look, drawn, rated, and held against a policy's bounds."""
