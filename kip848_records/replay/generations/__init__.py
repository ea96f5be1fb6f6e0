"""The common part of classic groups of all protocol types: generations, their rounds, causes and owners."""
