// Package l7test runs a small appliance within a test: an engine on real loops and sockets,
// backends that record their input, and raw clients.
package l7test
