// Package engine is the common part of engines. An engine serves the farms of some profiles
// on all loops: l7/proxy serves HTTP, l4/forward serves l4xnat in userspace.
//
//	Base   one engine: ports, marks, tables, and putting a configuration into use
//	Set    all engines of a process: a change applies to all of them or to none
//
// An engine adds its own part: the compilation of a configuration into a Table, and the
// Worker of each loop, which uses the table.
package engine
