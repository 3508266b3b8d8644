"""What people expect of privacy."""
