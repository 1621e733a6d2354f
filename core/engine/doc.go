// Package engine is what engines stand on. An engine serves the farms of some
// profiles on all loops: l7/proxy those of HTTP, l4/forward those of l4xnat in
// userspace.
//
//	Base   one engine: ports, marks, tables, and how a configuration comes into use
//	Set    all engines of a process: a change is for all of them or for none
//
// An engine adds to the scaffold what is its own: how a configuration is compiled
// into a Table, and what a loop's Worker does with one.
package engine
