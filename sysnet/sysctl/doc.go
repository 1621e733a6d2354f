// Package sysctl sets what the kernel's data path needs (forwarding, counters
// of tracked connections, loose reverse path filters) and gives back what was
// there before.
//
// # The way through it
//
// Values are told everything that shall hold now (Keep). What is new is
// written down in its journal first and then set; what is wanted no more gets
// its old value back, unless somebody else has changed it since. List shows
// both values. Only names of a short list are ever touched (names.go).
//
// # The journal
//
// It is a file netd gets from the supervisor, opened: the supervisor alone has
// the right to open files in the data directory, and a memory file would be
// gone with it. Two slots in the file take turns, each with a checksum, so
// that a write that was torn leaves the one before. It names the boot and the
// network namespace it is true of: values of another boot are nobody's to give
// back. Its owner is the user mgmt runs under, who could change it; that would
// give back other values, but only to names of the list.
//
// # What forwarding carries along
//
// The kernel sets more than it is told: net/ipv4/ip_forward sets forwarding of
// every interface and whether redirects are believed, and forwarding of IPv6
// makes interfaces deaf to router advertisements. What is carried along is
// written down too and given back after; Forward keeps interfaces listening
// that listened.
package sysctl
