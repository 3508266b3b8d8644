"""How toxic the replies to jailbroken requests are."""
