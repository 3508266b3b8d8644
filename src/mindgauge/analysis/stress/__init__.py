"""What a stress test found: `design` (what is compared), `gaps` (conversation by conversation), `effects`, `injections`."""
