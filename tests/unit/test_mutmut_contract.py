"""What is used of mutmut and libcst, so that a new release of either that breaks it is known by its test."""

from __future__ import annotations

import libcst as cst
from libcst.metadata.span_provider import SpanProvidingCodegenState
from mutmut.mutation.mutators import mutation_operators

from pytest_killmatrix.operators import mutmut_adapter


def test_the_list_holds_pairs_of_a_node_type_and_a_function_of_a_node() -> None:
    for kind, operator in mutation_operators:
        assert issubclass(kind, cst.CSTNode)
        assert callable(operator)
        assert operator.__name__.startswith("operator_")


def test_the_known_operators_are_there() -> None:
    assert set(mutmut_adapter.NAMES) == {
        "arg_removal",
        "assignment",
        "augmented_assignment",
        "dict_arguments",
        "if_exp",
        "keywords",
        "lambda",
        "match",
        "name",
        "number",
        "remove_unary_ops",
        "string",
        "swap_op",
        "symmetric_string_methods_swap",
        "unsymmetrical_string_methods_swap",
    }


def test_an_operator_yields_nodes_without_changing_its_argument() -> None:
    node = cst.ensure_type(cst.parse_expression("a + b"), cst.BinaryOperation)
    swap = next(operator for _, operator in mutation_operators if operator.__name__ == "operator_swap_op")
    assert [cst.Module([]).code_for_node(mutated) for mutated in swap(node)] == ["a - b"]
    assert cst.Module([]).code_for_node(node) == "a + b"


def test_libcst_spans_can_be_recorded_in_code_points() -> None:
    assert hasattr(SpanProvidingCodegenState, "record_syntactic_position")
    text = "é = (x + 1) # c\n"
    module = cst.parse_module(text)
    spans = mutmut_adapter._Spans.of(module)
    addition = next(node for node in spans.whole if isinstance(node, cst.BinaryOperation))
    assert text[slice(*spans.whole[addition])] == "(x + 1)"
    assert text[slice(*spans.inner(addition))] == "x + 1"
    assert "".join(spans.tokens) == text
