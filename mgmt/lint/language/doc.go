// Package language compares regular expressions: whether one matches everything that another
// matches, and whether some text matches both.
//
// Both answers are exact. The two programs of regexp/syntax are run simultaneously over one
// letter of each class they distinguish, until no new pair of states is found. Such a search
// may be long, so there is a Budget. When it is exhausted the answer is Unknown, never a guess.
//
// Texts are parts of requests, without control characters. Expressions have the engine's
// semantics: hosts are anchored at the first byte and ignore case; targets start with a slash
// and are searched.
package language
