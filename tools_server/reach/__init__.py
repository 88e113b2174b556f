"""How tools reach other machines: through the egress, and no other way."""
