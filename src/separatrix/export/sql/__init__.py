"""Programs as SQL queries, built as syntax trees of sqlglot: nothing is pasted into text."""
