"""The same dialogue by people who differ in who they say they are."""
