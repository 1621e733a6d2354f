// Package sysctl sets the sysctls that the kernel's data path needs (forwarding, counters
// of tracked connections, loose reverse path filters) and restores the previous values.
//
// # The way through it
//
// Keep gets all settings that must hold now. New ones are recorded in the journal first
// and set then. Those no longer needed are restored, unless another program has changed
// them since. List returns both values. Only names of a short list are set (names.go).
//
// # The journal
//
// It is a file that the supervisor opens for netd: only the supervisor may open files in
// the data directory, and a memfd would be lost with it. Two slots with checksums are
// written alternately, so that a torn write leaves the previous one intact. The journal
// records the boot and the network namespace; values of another boot are not restored.
// Its owner is the user of mgmt, who could modify it. That would restore other values,
// but only for names of the list.
//
// # Side effects of forwarding
//
// The kernel changes more than the named sysctl. Setting net/ipv4/ip_forward also sets
// forwarding of every interface and accept_redirects, and IPv6 forwarding makes
// interfaces ignore router advertisements. The affected values are recorded and restored
// too. Forward preserves the processing of router advertisements.
package sysctl
