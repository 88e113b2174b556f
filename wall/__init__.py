"""What house and tool server must do alike on both sides of their wall; needs the standard library alone."""
