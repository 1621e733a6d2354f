// Package archtest tests the structure of the code: the imports between packages, and the
// package that is the only door to a dependency. It exports nothing.
package archtest
