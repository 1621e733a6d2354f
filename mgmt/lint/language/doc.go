// Package language compares what regular expressions match: whether everything one
// of them takes is taken by another one, and whether a text exists that both take.
//
// Both are answered exactly, by walking the two programs of regexp/syntax at the
// same time over one letter of each class they tell apart, until no new pair of
// states is found. Such a walk may become long, so there is a Budget; when it is
// used up the answer is Unknown, never a guess.
//
// Texts are what requests have: no control characters. What an expression means is
// what the engine makes of it: hosts are matched from the first byte on and without
// regard to case, targets are searched and begin with a slash.
package language
