"""The Spark session and all that it needs of this machine: settings, jars, Java, workers, logs, scratch folders."""
