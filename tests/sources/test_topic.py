def test_x(spark, broker):
    import time
    from kip848_records.sources.topic import open_topic, look_up, read_range, failures_of
    from tests.broker import settings
    def t(user, protocol, addr):
        return open_topic(spark, f"kafka://{addr}/__consumer_offsets", str(broker.properties(user, protocol)))
    e = look_up(spark, t(None, "PLAINTEXT", broker.bootstrap), isolation="read_committed")
    print(e)
    def tryit(f):
        t0=time.time()
        try: r=f()
        except Exception as x: r=type(x).__name__+': '+str(x)[:3000]
        print(round(time.time()-t0,1),r)
    def rd(tt):
        r = {p:(0,max(b,1)) for p,(a,b) in e.offsets.items()}
        with failures_of(tt,"read"): return read_range(spark,tt,r,isolation="read_committed").count()
    for u in (settings.ADMIN, settings.READER, settings.STRANGER):
        for pr, ad in (("SASL_PLAINTEXT", broker.scram), ("SASL_SSL", broker.tls)):
            tt = t(u, pr, ad)
            tryit(lambda: look_up(spark, tt, isolation="read_committed"))
            tryit(lambda: rd(tt))
    assert 0
