"""Reading whatever somebody brings: a folder, a zip, tables of any kind; faults are kept, not repaired."""
