"""Writing a run for other tools: tables as CSV or Parquet, and the Hugging Face layout. One format, one module."""
