"""What leaves a run: tables, other tools' layouts, folders and addresses."""
