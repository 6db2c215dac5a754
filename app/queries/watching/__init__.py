"""How far has each chain been read, and what is kept of it?"""
