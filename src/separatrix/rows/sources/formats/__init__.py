"""File formats beside CSV and Parquet: Arrow, JSON lines, workbooks."""
