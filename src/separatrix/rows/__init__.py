"""Reading of tables: schema, levels, missing values, and blocks of numbers."""
