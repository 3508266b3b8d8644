"""A report in another language: a translation memory with slots, applied where the page is written, not where it is thought."""
