"""Share groups (KIP-932): several members may have one partition."""
