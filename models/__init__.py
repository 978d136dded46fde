"""Proofs by search: changed tables that the checks must reject, and models of what the tables leave open."""
