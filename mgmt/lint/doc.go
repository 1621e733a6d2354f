// Package lint finds configuration that has no effect or will fail soon: services that no
// request can reach or has reached, unused certificates, backends without traffic, and
// ineffective settings.
//
// Look is a pure function of a configuration and of Evidence about it: counters, the state of
// backends, certificates. It does not guess; missing evidence is reported as unknown.
//
// Services are compared exactly, by their expressions (mgmt/lint/language). A service is
// shadowed if an earlier service, or several together, match everything it matches. The effort
// is bounded; pairs that were not compared are reported, too.
package lint
