// Package family answers clients of the product family as they expect: those of its
// older generations, too, whose calls and answers it translates into the ones the API
// has now, and back. Nothing else of the API knows that there were others.
//
// A request to a base of the family passes Lead, which brings it to the base of the
// newest generation, and Over, which stands between who asks and the operations:
//
//	Lead       which generation; how people logged in and out then
//	request    what our answers have and the family's have not; fields a client sends back as it read them, and nobody can set, are left out
//	guardian   the health check of a service was an object of the farm before 3.2
//	inline     it was fields, which a check of its own keeps now
//	account    the user zapi and root had paths of their own
//	answer     fields an older client reads, and words it knows
//	notfound   the words by which clients tell that something is not there
//
// Generation 3 ignored fields it did not know. Left out are only those it showed in its
// own answers, of any profile: what is misspelt is refused, as it is now.
package family
