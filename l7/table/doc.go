// Package table holds the configuration in the form that the loops of layer 7 use, and
// decides about requests.
//
//	Compiler.Compile   a configuration → an immutable Table for all loops
//	Query.Plan         a request → its outcome: refused, redirected, forwarded
//
// Plan is a function of the table and the request head. Traffic and explanations call the
// same function. For explanations every step also reports to a Trail; new steps do so by
// Plan.Refuse and pass.
//
// State that outlives a table (sessions, rotations, queues) is in l7/state, by stable
// number.
package table
