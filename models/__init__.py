"""Proofs by search: changed copies of the tables that the checks must reject, and models of what the tables leave open."""
