// Package route finds the service of an exchange: the first rule, in
// configured order, whose host pattern and URL pattern both match.
//
// Compile turns the rules into a Table once per generation; Match asks it.
// What a rule means is defined by two regular expressions, and by nothing
// else:
//
//   - the host pattern matches from the first byte of the host on, ignores
//     case, and is tried on the host with its port and without it. It need not
//     reach the end unless it is a name (farm.IsHostName);
//   - the URL pattern is searched anywhere in the target (path and query).
//
// An empty pattern matches everything. Syntax is that of Go's regexp (RE2);
// constructs only a backtracking engine has are refused with their name.
//
// Running two regular expressions per rule costs microseconds with a hundred
// services, so Compile reads the patterns with regexp/syntax and takes out
// what is literal. Over plain input (printable ASCII, hosts in lower case) a
// pattern becomes a few sequences of byte sets:
//
//	www\.a\.com       exact      w w w . a . c o m END
//	www\.a\.[a-z]     prefix     w w w . a . a-z
//	^/app/.*          prefix     / a p p /
//	\.(png|gif)$      suffixes   . p n g END    . g i f END
//	^/u/[0-9]+/x      prefix     / u / 0-9   then the regular expression decides
//
// Sequences that start at the first byte live in a trie: one for the hosts,
// and under every host pattern one for the URLs. A match is a walk down both
// and does not grow with the number of rules. A regular expression runs only
// where the trie led to its literal prefix.
//
// Where many patterns begin alike the trie tells them apart no more. What they
// need further on is then read out of them as well: literals one of which every
// match holds, and of these the rarest. Automata, one for hosts and one for
// targets, find all of them in one walk, and only patterns that have one in the
// input, the candidates, are asked:
//
//	(www|shop)[a-z]*007\.example\.(org|net)$    007.example.org, 007.example.net
//	^/[a-z]+007/(v[0-9]+/)?[0-9a-z]+$           007/
//
// What is left for a regular expression is asked of an automaton of its states
// (dfa.go), which takes one look-up for each byte. It exists for some hundred
// usual patterns; others, and those with word boundaries, run as they are.
//
// Input that is not plain takes the regular expressions themselves, so the
// answer is the same for every input; a property test holds that.
//
// A Table is immutable: any number of goroutines may use it, and Match
// allocates nothing.
package route
