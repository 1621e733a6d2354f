// Package revive is the passive side of health: a backend that could not be
// connected to is down for all loops at once, and is tried again every so often
// until a connect succeeds: soon at first, then after twice as long each time.
//
// Trying again is not the business of any connection, so it runs in the
// background: one goroutine looks ten times a second which backends are due. The
// connects themselves are made on loops, because the sockets that have marks
// are theirs; few are under way at once.
package revive
