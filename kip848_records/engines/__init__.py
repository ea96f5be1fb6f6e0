"""The engines that move rows: Spark, and one in this process. Both read the same texts and call the same functions."""
