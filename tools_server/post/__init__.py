"""Mail: mailboxes, letters, and what a person would read of them."""
