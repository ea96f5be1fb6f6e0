"""What classic groups of all protocol types share: generations, their rounds, causes and owners."""
