"""What people wrote: papers with front matter, what is in a file, what is alike."""
