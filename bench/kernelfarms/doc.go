// Package kernelfarms measures farms the kernel carries: against a hand-written
// rule of nft(8) with the same two backends, and with many farms present
// against one. It has tests only, which take root and namespaces and run when
// SLUICE_BENCH is set, as `make bench` does.
//
// Both sides have networks of their own, so that neither pays for the rules of
// the other, and take turns of a fraction of a second; the medians of the turns
// are compared. Packets are sent by one thread, in whose time the whole way
// through the appliance falls because a veth hands them on at once.
package kernelfarms
