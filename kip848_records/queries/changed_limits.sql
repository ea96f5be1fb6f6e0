-- The limits of the diagnosis that the last run over a cluster changed.
SELECT diagnosis_limits FROM audit_runs WHERE run = (SELECT max(run) FROM audit_runs)
