"""What can be said to a house takes part in hearing: readings → sounds → nearest way → weighed on the sound."""
