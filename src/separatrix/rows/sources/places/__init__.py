"""Where tables are: paths, addresses in storage, members of archives, folders that name columns."""
