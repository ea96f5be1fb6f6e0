"""What people and other programs read of an audit: one module for each report, section and format."""
