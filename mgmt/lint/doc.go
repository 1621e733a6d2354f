// Package lint says what of a configuration is there for nothing, or will fail
// soon: services no request can reach or none has reached, certificates nobody is
// shown, backends that are never used, settings without effect.
//
// Look is a pure function of a configuration and of Evidence about it: what was
// counted, how backends are, which certificates there are. It changes nothing and
// guesses nothing: what cannot be told from evidence is said to be unknown.
//
// Services are compared by their expressions (mgmt/lint/language), exactly. A
// later service is shadowed if one earlier service, or several together, take all it
// takes. Comparing is bounded; pairs that were not compared are a finding, too.
package lint
