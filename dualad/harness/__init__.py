"""What each mode costs, measured on shared problems or on a function of yours."""
