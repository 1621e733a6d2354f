// Package route finds the service of an exchange: the first rule, in configured order, whose
// host pattern and URL pattern both match.
//
// Compile turns the rules into a Table once per generation; Match evaluates it. The meaning
// of a rule is defined by two regular expressions only:
//
//   - the host pattern matches from the first byte of the host, ignores case, and is tried on
//     the host with and without its port. It need not reach the end unless it is a name
//     (farm.IsHostName);
//   - the URL pattern is searched anywhere in the target (path and query).
//
// An empty pattern matches everything. The syntax is that of Go's regexp (RE2). Constructs
// that need a backtracking engine are refused by name.
//
// Two regular expressions per rule would cost microseconds with a hundred services. Compile
// therefore reads the patterns with regexp/syntax and extracts their literal parts. Over
// plain input (printable ASCII, hosts in lower case) a pattern becomes a few sequences of
// byte sets:
//
//	www\.a\.com       exact      w w w . a . c o m END
//	www\.a\.[a-z]     prefix     w w w . a . a-z
//	^/app/.*          prefix     / a p p /
//	\.(png|gif)$      suffixes   . p n g END    . g i f END
//	^/u/[0-9]+/x      prefix     / u / 0-9   then the regular expression decides
//
// Sequences that start at the first byte form tries: one for the hosts, and under every host
// pattern one for the URLs. A match is a walk down both, independent of the number of rules.
// A regular expression only runs where the trie led to its literal prefix.
//
// If many patterns share a prefix, the trie cannot distinguish them. Then Compile also
// extracts required literals: each match contains at least one of the set, and the rarest
// set is chosen. Two automata, for hosts and for targets, find all literals in one pass.
// Only patterns with a literal in the input (candidates) are evaluated:
//
//	(www|shop)[a-z]*007\.example\.(org|net)$    007.example.org, 007.example.net
//	^/[a-z]+007/(v[0-9]+/)?[0-9a-z]+$           007/
//
// Remaining regular expressions run as a DFA (dfa.go) with one lookup per byte. There is room
// for some hundred usual patterns. Others, and patterns with word boundaries, run in regexp.
//
// For other input the regular expressions themselves run, so the result is the same for
// every input. A property test checks this.
//
// A Table is immutable and safe for concurrent use. Match does not allocate.
package route
