"""The read models of the console's pages: what each page shows, in words. Nothing here writes."""
