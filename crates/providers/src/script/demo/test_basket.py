import unittest

from basket import Basket


class BasketTest(unittest.TestCase):
    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(Basket().total(), 0)

    def test_prices_add_up(self):
        basket = Basket()
        basket.add("pencil", 120)
        basket.add("eraser", 80)
        self.assertEqual(basket.total(), 200)

    def test_three_of_a_kind_cost_three_times_as_much(self):
        basket = Basket()
        basket.add("notebook", 350, count=3)
        self.assertEqual(basket.total(), 1050)


if __name__ == "__main__":
    unittest.main()
