// Package contracttest holds an API to its own OpenAPI document, over HTTP and
// knowing nothing of how it is made: a client that was generated from the document
// sees what these tests see.
//
//	document.go   reads the document, and compiles its schemas
//	target.go     the appliance that is asked, and its answers
//	fixture.go    what there is on it, so that paths lead somewhere
//	values.go     what is put into a field: right, wrong, hostile
//	drive.go      every operation with all of that, one after the other
//	roles.go      every operation by somebody with a role
//	walk.go       operations in an order of chance, for as long as one likes
//	check.go      what must hold of every answer
//
// What must hold: the answer is one the document lists, in its form; nothing is
// answered with a fault of the appliance's own; what is refused changed nothing;
// and what is taken is what the document allows.
package contracttest
