"""The reports of an audit, for people and for programs: a module for each report, section and format."""
