"""Histories and look-ups of transfers: the shapes of questions and answers, and what fills them."""
