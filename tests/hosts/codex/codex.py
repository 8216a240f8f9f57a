def test(report):
    pass
