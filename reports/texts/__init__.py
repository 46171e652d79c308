"""What people and machines read of a matrix, but for the site."""
