"""The walls that the kernel puts around this process, and the porter that reaches through them."""
