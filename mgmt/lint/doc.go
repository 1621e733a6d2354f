// Package lint finds configuration that has no effect or will fail soon: services that no
// request can reach or has reached, certificates that are never shown, backends that are
// never used, settings without effect.
//
// Look is a pure function of a configuration and of Evidence about it: counters, the state
// of backends, certificates. It changes nothing and never guesses; missing evidence is
// reported as unknown.
//
// Services are compared exactly, by their expressions (mgmt/lint/language). A service is
// shadowed if an earlier service, or several together, match everything it matches. The
// effort is bounded; pairs that were not compared are reported, too.
package lint
