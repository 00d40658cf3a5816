"""Tables in: columns with names become blocks of numbers, read once."""
