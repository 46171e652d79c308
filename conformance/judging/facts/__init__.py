"""What single requests and their answers say, with every field, one module for each subject."""
