// Opened from a folder, a page may not read other pages: results of a search are then listed without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
