"""What a sentence means in this house: read once, by grammar, into one value."""
