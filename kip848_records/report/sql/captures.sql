SELECT partition, unix_millis(captured_at) AS captured_ms FROM captures
