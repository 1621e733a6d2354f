// Package broken has a test that fails without any fault.
package broken

// Two is two.
func Two() int { return 2 }
