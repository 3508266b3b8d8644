"""The released files of TrustMH-Bench and of the sets it draws on, read as they are: one set, one file here."""
