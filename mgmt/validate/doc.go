// Package validate holds the rules of the contract: which values a farm, a
// service and a backend may have, alone and together.
//
// Every surface uses the same rules. The tables (FarmCreate, ServiceUpdate,
// BackendDocument …) name the fields of one kind of body, each with its rule:
// the API decodes its JSON bodies through them and builds the help body from
// them, mgmt/document decodes files through them. A value is a text, a number, a
// truth value or a list of texts; a field may say what it needs with it, as a
// cookie's name needs cookie insertion. Lists of header and URL rules are of one
// [RuleList] each, which has a table for a single rule. [Rules.Config] then checks a
// whole configuration: the same tables again for every value, and after them
// what concerns several values, objects or farms.
//
// What the engine compiles is checked by the code that compiles it (core/tlsconf)
// or by the same syntax and bounds (regexes). Whether a certificate exists is
// not known here: mgmt/certs tells mgmt/apply.
//
// Nothing here reads the network or the clock: the local networks that decide
// what a broadcast address is are given by the caller. Everything is safe for
// use by many goroutines at once.
package validate
