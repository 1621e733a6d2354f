// Package contracttest checks an API against its own OpenAPI document, over HTTP and
// without knowledge of the implementation. A client generated from the document sees the
// same.
//
//	document.go   reads the document and compiles its schemas
//	target.go     the appliance under test, and its responses
//	fixture.go    the objects on it, so that paths lead somewhere
//	values.go     values for fields: valid, invalid, hostile
//	drive.go      every operation with all of these, in order
//	roles.go      every operation by a user with a role
//	walk.go       operations in random order, for any duration
//	check.go      the conditions for every response
//
// The conditions: the document lists the response and its form; there are no internal
// errors; a rejected request changes nothing; and every accepted request is one that the
// document allows.
package contracttest
