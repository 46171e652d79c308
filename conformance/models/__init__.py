"""Small reference models that machines steer by. They know what was asked for, never what the cluster answered."""
