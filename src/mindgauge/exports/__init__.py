"""Writing a run for other tools: tables as CSV or Parquet, the Hugging Face layout, a review list. One format, one module."""
