"""A small shop: what things cost (``pricing``) and how many are left (``stock``)."""

from inventory.pricing import Quote, quote
from inventory.stock import Item, OutOfStock, Warehouse

__all__ = ["Item", "OutOfStock", "Quote", "Warehouse", "quote"]
