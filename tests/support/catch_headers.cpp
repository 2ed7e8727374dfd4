// Nothing: its target has the headers of Catch2 precompiled, for all others.
