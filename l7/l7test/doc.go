// Package l7test puts up a small appliance in the test's own process: an
// engine on real loops and sockets, backends that record what they receive,
// and clients that speak bytes.
package l7test
