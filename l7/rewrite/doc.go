// Package rewrite changes heads by an operator's rules: it removes, replaces
// and adds header fields, and rewrites the paths of requests.
//
// Rules are compiled once per generation and then only read. What they need
// while they run is in a Scratch, of which each loop has one.
//
//	Remover.Remove    fields whose "Name: value" holds a pattern are taken out
//	Replacer.Replace  in the values of some fields, what a pattern finds is replaced
//	URL.Rewrite       the path and query of a request are replaced
//	Template.Append   what is put in place: text with $1 … $9
//
// # What rules cannot do
//
// Fields that frame a message or belong to one hop, Host and Expect are out of
// their reach (http1.Fixed). What is put in place is an http1.Value, so no rule
// and no client can end a line with it; a path that was rewritten is read again
// as if it had just come. What grows beyond the limits of a head is refused.
//
// # Cost
//
// 0 allocations, whatever the patterns, on texts of usual length: the groups of
// a match are found by a matcher of this package, because regexp's allocates a
// result for each. Literal beginnings and names never come that far.
package rewrite
