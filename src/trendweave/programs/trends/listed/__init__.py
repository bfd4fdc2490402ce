"""What happens to trends between finding and writing them: conditions on whole matches, and choices among them."""
