"""A run as logs of Inspect: an `.eval` file for each benchmark and model, which `inspect view` opens. Written without inspect-ai."""
