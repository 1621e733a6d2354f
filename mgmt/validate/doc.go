// Package validate implements the rules of the contract for whole configurations. All interfaces
// use the same rules.
//
// The tables of fields are in the folders below: httpfarm, l4farm and gslbfarm (profile has their
// common fields), check, system and people. [Rules.Config] checks every value with these tables.
// Then it checks the rules between values, objects and
// farms. [Rules.Warnings] lists settings without effect, [Impacts] the cost of a change, and
// [Deletions] its deleted objects.
//
// Input that the engine compiles is checked by the same code (core/tlsconf) or with the
// same syntax and limits (regexes). The existence of certificates is checked elsewhere
// (mgmt/certs, mgmt/apply).
//
// The package does not access network or clock. Callers pass the local networks, which
// define broadcast addresses. It is safe for concurrent use.
package validate
