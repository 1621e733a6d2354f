// Package untested has no tests.
package untested

// Two is two.
func Two() int { return 2 }
