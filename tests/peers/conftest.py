"""Marks of scikit-learn's test modules, which strict markers would refuse."""


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's; not to be run in several threads at once")
