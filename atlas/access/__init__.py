"""How devices come near: the house's own certificates, and the QR codes of links."""
