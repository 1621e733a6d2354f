// Package rewrite applies an operator's rules to heads: it removes, replaces and adds header
// fields, and rewrites request paths.
//
// Rules are compiled once per generation and read-only afterwards. Their working memory is a
// Scratch, one for each loop.
//
//	Remover.Remove    removes the fields whose "Name: value" matches a pattern
//	Replacer.Replace  replaces pattern matches in field values
//	URL.Rewrite       replaces the path and query of a request
//	Template.Append   the replacement: text with $1 … $9
//
// # Limits of rules
//
// Rules cannot touch framing and hop-by-hop fields, Host and Expect (http1.Fixed).
// Replacements are http1.Values, so neither a rule nor a client can insert a line end. A
// rewritten path is parsed like a client's. Results beyond the limits of a head are refused.
//
// # Cost
//
// 0 allocations for any pattern on texts of usual length. Groups are found by a matcher of
// this package, because regexp allocates each result. Literal prefixes and names avoid most
// matches.
// result for each. Literal beginnings and names never come that far.
package rewrite
