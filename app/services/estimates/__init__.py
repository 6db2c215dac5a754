"""What would a transfer cost and bring?"""
