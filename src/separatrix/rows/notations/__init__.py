"""How people write numbers, dates and missing values, recognized from whole columns."""
