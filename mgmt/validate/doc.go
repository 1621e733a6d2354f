// Package validate implements the rules of the contract: the valid values of farms,
// services and backends, single and combined.
//
// All interfaces use the same rules. A table (FarmCreate, ServiceUpdate, BackendDocument …)
// lists the fields of one kind of body, each with its rule. The API decodes JSON bodies
// with it and builds help responses from it; mgmt/document decodes files with it. A value
// is a text, a number, a boolean or a list of texts. A field may require another one, e.g.
// the name of a cookie needs cookie insertion. Each list of header or URL rules is a
// [RuleList] with a table for a single rule. [Rules.Config] checks a whole configuration:
// every value with the same tables, then the rules between values, objects and farms.
//
// Input that the engine compiles is checked by the same code (core/tlsconf) or with the
// same syntax and limits (regexes). The existence of certificates is checked elsewhere
// (mgmt/certs, mgmt/apply).
//
// The package does not access network or clock. Callers pass the local networks, which
// define broadcast addresses. It is safe for concurrent use.
package validate
