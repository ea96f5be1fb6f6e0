"""Consumer groups (KIP-848): what they have and the other modern groups have not."""
