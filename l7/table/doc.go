// Package table is a configuration as the loops of layer 7 use it, and what happens
// to a request under it.
//
//	Compiler.Compile   a configuration → a Table, immutable, for all loops
//	Query.Plan         a request → what happens to it: refused, redirected, forwarded
//
// Plan is a function of the table and the head of the request. Traffic and
// explanations call the same one; for an explanation there is a Trail, which every
// step tells what it found. A new step does so by Plan.Refuse and pass.
//
// What outlives a table (sessions, turns, queues) is in l7/state and found by
// stable numbers.
package table
