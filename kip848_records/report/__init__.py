"""The verdict of a check in the forms that people and other programs read: each module makes one of them."""
