"""Groups whose clients follow a script, and the truth of what is wrong with each: a row of `diagnosis` a trouble."""
