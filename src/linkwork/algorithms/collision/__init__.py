"""Collision: functions that compute the contact patch (up to four contact points) of two solids of given shapes."""
