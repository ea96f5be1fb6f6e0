"""No file imports itself by way of others, not even for its types."""

from graphlib import CycleError, TopologicalSorter

import grimp


def test_no_cycle_of_files():
    graph = grimp.build_graph("kip848_records", exclude_type_checking_imports=False)
    # A package stands for its own file alone.
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
