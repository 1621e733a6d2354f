// Package format checks the form of texts: addresses, networks, names, certificates and sealed
// secrets. A check returns the problem, "" for none.
package format
