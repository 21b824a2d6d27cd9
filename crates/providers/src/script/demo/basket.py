"""A shopping basket that knows what it costs."""


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        """Puts something into the basket; the price is in cents."""
        self.lines.append((name, price, count))

    def total(self):
        """What all of it costs, in cents."""
        return sum(price for _, price, _ in self.lines)
