"""The report: one offline page, the same content as JSON, and a summary for a pull request."""
